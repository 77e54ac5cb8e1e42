//! Recorded runs, simulated again.

#[test]
fn every_simulated_record_replays_to_its_timeline() {
    let profile: simulator::Profile = toml::from_str(simulator::Profile::H200).expect("TOML");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/figures");
    let (mut same, mut other) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).expect("the records").flatten() {
        if !entry.file_name().to_string_lossy().ends_with(".record.json") {
            continue;
        }
        let text = std::fs::read(entry.path()).expect("a record");
        let record: trace::Record = serde_json::from_slice(&text).expect("a record");
        if !matches!(record.timeline.origin, trace::timeline::Origin::Simulated { .. }) {
            continue;
        }
        match simulator::replay(&record.program, &profile, simulator::Schedule::Exact)
            == record.timeline
        {
            true => same += 1,
            false => other.push(entry.file_name()),
        }
    }
    assert!(other.is_empty() && same > 100, "{same} the same, and not {other:?}");
}
