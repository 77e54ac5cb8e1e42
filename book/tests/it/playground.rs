//! The playground says what the simulator says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use book::playground::editor;
use book::records::Records;
use book::records::metric::{Number, number};
use book::wasm;
use playground::setting::{Key, Setting};
use playground::{Played, Sheet, answer};
use wasmi::{Engine, Instance, Linker, Memory, Module, Store, TypedFunc};

use crate::needs::{Need, missing};
use crate::real::root;

/// The page's wasm, as the page's script runs it.
struct InPage {
    store: Store<()>,
    memory: Memory,
    request: TypedFunc<u32, u32>,
    begin: TypedFunc<(u32, u32), u32>,
    finish: TypedFunc<u32, u64>,
}

impl InPage {
    fn new(wasm: &[u8]) -> Self {
        let engine = Engine::default();
        let module = Module::new(&engine, wasm).expect("the wasm is sound");
        assert_eq!(module.imports().count(), 0, "the wasm asks the page for something");
        let mut store = Store::new(&engine, ());
        let instance: Instance =
            Linker::new(&engine).instantiate_and_start(&mut store, &module).expect("it starts");
        let memory = instance.get_memory(&store, "memory").expect("its memory");
        let request = instance.get_typed_func(&store, "request").expect("`request`");
        let begin = instance.get_typed_func(&store, "begin").expect("`begin`");
        let finish = instance.get_typed_func(&store, "finish").expect("`finish`");
        Self { store, memory, request, begin, finish }
    }

    fn answer(&mut self, address: &str, id: &str) -> String {
        let asked = format!("{id}\n{address}");
        let bytes = asked.len() as u32;
        let at = self.request.call(&mut self.store, bytes).expect("room");
        self.memory.write(&mut self.store, at as usize, asked.as_bytes()).expect("it fits");
        let run = self.begin.call(&mut self.store, (at, bytes)).expect("a run");
        let answer = self.finish.call(&mut self.store, run).expect("an answer");
        let (bytes, start) = ((answer >> 32) as usize, answer as u32 as usize);
        let text = self.memory.data(&self.store)[start..start + bytes].to_vec();
        String::from_utf8(text).expect("text")
    }
}

fn in_page() -> Option<InPage> {
    match wasm::PLAYGROUND.plain() {
        Ok(wasm) => Some(InPage::new(wasm)),
        Err(_) => missing(Need::Wasm),
    }
}

#[test]
fn the_page_says_what_the_native_simulator_says() {
    if in_page().is_none() {
        return;
    }
    let mut addresses = Vec::new();
    for sheet in Sheet::ALL {
        // All of the smaller sheet. The larger one has thousands of calls in each setting: every
        // 13th, which is prime to all numbers of choices, so that each pair of choices occurs.
        let every = if sheet == Sheet::Pipeline { 1 } else { 13 };
        addresses.extend(Setting::all(sheet).step_by(every).map(|setting| setting.address()));
    }
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let mut in_page = in_page().expect("it was there");
                while let Some(address) = addresses.get(next.fetch_add(1, Ordering::Relaxed)) {
                    assert!(in_page.answer(address, "x") == answer(address, "x"), "{address}");
                }
            });
        }
    });
    assert!(next.into_inner() > addresses.len(), "all were tried");
}

#[test]
fn of_a_written_program_the_page_says_what_the_native_simulator_says() {
    let Some(mut in_page) = in_page() else { return };
    let programs = editor::programs(&root()).expect("the programs");
    assert!(programs.len() > 30, "only {} programs", programs.len());
    let solved = programs.iter().find(|program| program.name.ends_with(".solution"));
    assert!(solved.is_none(), "a page shows how an exercise is solved");
    let mut texts: Vec<&str> = programs.iter().map(|program| program.text.as_str()).collect();
    let wrong = "repeat 3 {\n  in a: kernal 2 ms\n  up 4\n";
    let races =
        "in a: up 4 MiB to x\nin b: kernel 2 ms on x\nin c: memset x\nfree x\nin a: up 4 MiB to y";
    texts.extend([wrong, races, ""]);
    let mut before = "";
    for text in texts {
        let asked = format!("program\n{text}\0{before}");
        assert!(in_page.answer(&asked, "x") == answer(&asked, "x"), "{text}");
        before = text;
    }
}

#[test]
fn programs_to_start_from_are_right_and_a_link_to_one_is_its_text() {
    for program in editor::programs(&root()).expect("the programs") {
        assert!(program.text.starts_with("# "), "{} has no title", program.name);
        let compiled = playground::language::compile(&program.text);
        assert!(compiled.is_ok(), "{}: {compiled:?}", program.name);
    }
    assert_eq!(editor::address("in a: up 4 MiB\n# µ"), "p=in+a%3A+up+4+MiB%0A%23+%C2%B5");
}

#[test]
fn the_wasm_is_at_most_126_kb_gzipped() {
    let Ok(wasm) = wasm::PLAYGROUND.plain() else { return missing(Need::Wasm).unwrap_or_default() };
    let bytes = wasm::gzip(wasm).expect("it packs").len();
    assert!(bytes <= 126_000, "{bytes} bytes");
}

#[test]
fn the_sheet_of_three_lanes_takes_what_the_programs_of_the_chapter_take() {
    let records = Records::read(&root()).expect("the records");
    for (name, setting) in [
        ("blocking", "down=pageable&up=pageable&host=waits"),
        ("non_blocking", "down=pinned&up=pageable&host=goes-on"),
        ("blocking_pinned", "down=pinned&up=pinned&host=waits"),
        ("non_blocking_pinned", "down=pinned&up=pinned&host=goes-on"),
    ] {
        let record = &records.get(&format!("three_lanes.{name}")).expect("it is there").record;
        let setting = Setting::parse(&format!("sheet=three_lanes&{setting}"));
        let played = Played::new(&setting);
        let makespan = played.timeline.extent().ns();
        assert_eq!(number(record, "makespan"), Ok(Number::Time(makespan)), "{name}");
        let efficiency =
            played.bounds.overlap_efficiency(makespan).expect("there is overlap to gain");
        // The sheet takes the ends of the scale from a host that goes on, the record from its own.
        let Ok(Number::Share(recorded)) = number(record, "efficiency") else { panic!("{name}") };
        assert!((recorded - efficiency).abs() < 0.001, "{name}: {recorded}, {efficiency}");
    }
}

#[test]
fn no_program_of_the_playground_has_a_hazard_or_beats_its_floor() {
    for sheet in Sheet::ALL {
        for setting in Setting::all(sheet).step_by(7) {
            let Played { program, timeline, bounds, .. } = Played::new(&setting);
            let address = setting.address();
            assert!(timeline.extent().ns() >= bounds.floor_ns, "{address} beats its floor");
            if sheet == Sheet::Pipeline {
                let found = trace::hazards::find(&program);
                assert!(found.is_empty(), "{address}: {} hazards", found.len());
            }
        }
    }
}

#[test]
fn the_ends_of_a_pipelines_scale_change_with_its_kernel_and_the_device_alone() {
    let mut ends = BTreeMap::new();
    for setting in Setting::all(Sheet::Pipeline).step_by(7) {
        let of = [Key::Kernels, Key::Device].map(|key| setting.index(key));
        let bounds = Played::new(&setting).bounds;
        assert_eq!(*ends.entry(of).or_insert(bounds), bounds, "{}", setting.address());
    }
    assert_eq!(ends.len(), 5 * playground::profiles::count());
}

#[test]
fn every_setting_comes_back_from_its_address() {
    for sheet in Sheet::ALL {
        let mut seen = BTreeSet::new();
        for setting in Setting::all(sheet) {
            let address = setting.address();
            assert_eq!(Setting::parse_strictly(&address), Ok(setting));
            assert!(seen.insert(address), "an address that stands for two");
        }
    }
    assert_eq!(
        Setting::parse("sheet=pipeline&streams=9&colour=red"),
        Setting::new(Sheet::Pipeline)
    );
    let error = Setting::parse_strictly("sheet=pipeline&streams=9").expect_err("there is no ninth");
    assert_eq!(error.0, "streams=9");
}
