//! What is said of the programs that pages show, so that it can be read beside the page.

use std::fmt::Write as _;

use trace::causes::{self, Code};

use super::advised;
use crate::program::h200;

#[test]
fn the_causes_of_each_puzzle_say_what_its_page_says() {
    let mut said = String::new();
    for (name, record) in crate::figures::simulated() {
        let causes = advised(&record.program).causes;
        if !causes.is_empty() {
            let _ = writeln!(said, "{name}");
        }
        for cause in causes {
            let _ = writeln!(said, "  {} {}", cause.code, cause.headline());
            let _ = writeln!(said, "           {}", cause.help());
        }
    }
    insta::assert_snapshot!(said);
}

#[test]
fn no_line_is_named_of_a_program_in_which_none_may_be_changed() {
    let names = |text: &String| text.contains("line ") || text.contains(".rs:");
    let mut named = 0;
    for (name, record) in crate::figures::simulated() {
        let said = |may_change: bool| {
            let found = causes::find(&record.program, &record.timeline);
            let advised =
                simulator::advice::advise(&record.program, found, &h200(), &|_| may_change);
            let advice = advised.advice.iter().map(simulator::advice::Advice::message);
            advice.chain(advised.causes.iter().map(causes::Cause::help)).collect::<Vec<_>>()
        };
        named += said(true).iter().filter(|text| names(text)).count();
        let fixed = said(false);
        assert!(!fixed.iter().any(names), "{name}: {fixed:#?}");
    }
    assert!(named > 0, "where lines may be changed they are named");
}

#[test]
fn full_device_is_said_of_blocks_and_of_kernels_and_not_of_a_work_queue() {
    let records = crate::figures::simulated();
    let said = |name: &str| {
        let (_, record) = records.iter().find(|(own, _)| own == name).expect("a record");
        let found = causes::find(&record.program, &record.timeline).into_iter();
        found.filter(|it| it.code == Code::FullDevice).map(|it| it.headline()).collect::<Vec<_>>()
    };
    let [kernels] = &said("how_many_lanes.kernels_129")[..] else { panic!("one cause") };
    assert!(kernels.ends_with("128 kernels run: the device takes no more at once"), "{kernels}");
    let [blocks] = &said("two_streams.four")[..] else { panic!("one cause") };
    assert!(blocks.ends_with("kernels of other streams leave it too little room"), "{blocks}");
    assert_eq!(said("how_many_lanes.waiting_8"), [""; 0], "there is room for each of them");
}
