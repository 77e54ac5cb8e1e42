//! The schema in `class/schema` against the types, and the example beside it.

use std::path::Path;

use super::record::{FORMAT, Row};

/// Set to write the schema anew instead of comparing it.
const UPDATE: &str = "SWIM_UPDATE_SCHEMA";

#[test]
fn the_schema_of_rows_is_that_of_the_type() {
    let name = format!("src/schema/row.v{FORMAT}.json");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let schema = schemars::schema_for!(Row);
    let expected = serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n";
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &expected).expect("the schema can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "`{}` is not what the types say\nhint: {UPDATE}=1 cargo test -p class schema, and \
         raise `FORMAT` if the change is not one that old readers can take",
        path.display()
    );
}

/// The text of the README and the JSON in it.
fn readme() -> (&'static str, serde_json::Value) {
    let text = include_str!("schema/README.md");
    let (_, rest) = text.split_once("```json\n").expect("there is an example");
    let (json, _) = rest.split_once("```").expect("it ends");
    (text, serde_json::from_str(json).expect("it is JSON"))
}

#[test]
fn the_example_is_a_row_and_is_written_back_as_it_stands() {
    let (_, example) = readme();
    let row: Row = serde_json::from_value(example.clone()).expect("the example is a row");
    assert_eq!(serde_json::to_value(&row).expect("a row is JSON"), example);
}

#[test]
fn the_readme_tells_of_every_field() {
    let (text, _) = readme();
    let schema = serde_json::to_value(schemars::schema_for!(Row)).expect("a schema is JSON");
    let types = schema["$defs"].as_object().expect("there are types").values();
    for of in types.chain([&schema]) {
        for field in of["properties"].as_object().into_iter().flat_map(|fields| fields.keys()) {
            assert!(text.contains(&format!("`{field}`")), "the README does not mention `{field}`");
        }
        let listed = of["oneOf"].as_array().into_iter().flatten();
        for word in listed.filter_map(|one| one["const"].as_str()) {
            assert!(text.contains(&format!("`{word}`")), "the README does not mention `{word}`");
        }
    }
}
