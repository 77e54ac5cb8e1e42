//! Prints the causes and the advice for programs that were written down, for people at work on them.
use simulator::{Profile, Schedule, advice, replay};
use std::time::Instant;
fn main() {
    let profile: Profile = toml::from_str(Profile::H200).unwrap();
    for path in std::env::args().skip(1) {
        let text = std::fs::read(&path).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let program = if value.get("program").is_some() { value["program"].clone() } else { value };
        let program: trace::Program = serde_json::from_value(program).unwrap();
        let timeline = replay(&program, &profile, Schedule::Exact);
        println!("== {path}: {} steps, {} ns", program.steps.len(), timeline.extent().ns());
        let start = Instant::now();
        let causes = trace::causes::find(&program, &timeline);
        println!("found in {:?}", start.elapsed());
        for c in &causes {
            println!("  {} {:>9} {}", c.code, c.cost_ns, c.message());
        }
        let start = Instant::now();
        let advised = advice::advise(&program, causes, &profile);
        println!("advised in {:?}", start.elapsed());
        for c in &advised.causes {
            println!("  {} {:>9} {:?} {}", c.code, c.cost_ns, c.basis, c.message());
        }
        for a in &advised.advice {
            println!("  -> {} {}", a.code, a.message());
        }
        if let Some(r) = advised.refused {
            println!("  refused {}", r.message());
        }
    }
}
