//! The folder of a class: what is kept, what is put together, and what is taken out.

use super::*;
use crate::export::tests::class::{on_gpu, row};

/// A folder that goes with its value, and a class's grades in it.
fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), Earlier::Refused).unwrap();
    (folder, store)
}

fn refusal<T>(result: Result<T>) -> String {
    result.err().map(|error| format!("{error:#}")).unwrap_or_default()
}

#[test]
fn an_outcome_is_read_as_it_was_kept_and_one_of_another_format_or_cut_short_is_graded_again() {
    let (_folder, store) = store();
    let outcome = Outcome { row: row("", "events", 91.0), drawing: Some("<svg/>".to_owned()) };
    assert_eq!(store.outcome("a"), None);
    store.keep("a", &outcome).unwrap();
    assert_eq!(store.outcome("a").as_ref(), Some(&outcome));
    let older = Row { format: FORMAT - 1, ..outcome.row.clone() };
    store.keep("b", &Outcome { row: older, drawing: None }).unwrap();
    assert_eq!(store.outcome("b"), None);
    let whole = std::fs::read(store.outcome_path("a")).unwrap();
    write(&store.outcome_path("c"), &whole[..whole.len() / 2]).unwrap();
    assert_eq!(store.outcome("c"), None);
}

#[test]
fn what_a_gpu_took_is_read_as_it_was_kept() {
    let (_folder, store) = store();
    assert_eq!(store.on_gpu("a"), None);
    store.keep_on_gpu("a", &on_gpu()).unwrap();
    assert_eq!(store.on_gpu("a"), Some(on_gpu()));
}

#[test]
fn drawings_of_another_folder_are_taken_over_and_those_that_are_there_stay() {
    let ((_a, store), (_b, other)) = (store(), store());
    write(&store.drawings().join("both.svg"), b"this one's").unwrap();
    write(&other.drawings().join("both.svg"), b"the other's").unwrap();
    write(&other.drawings().join("one.svg"), b"the other's").unwrap();
    store.take_drawings(&other.root).unwrap();
    let read = |name: &str| std::fs::read(store.drawings().join(name)).unwrap();
    assert_eq!(
        (read("both.svg"), read("one.svg")),
        (b"this one's".to_vec(), b"the other's".to_vec())
    );
    store.take_drawings(Path::new("no such folder")).unwrap();
}

#[test]
fn parts_are_put_together_in_order_until_there_is_the_whole_and_notes_stand_there_once() {
    let (folder, store) = store();
    let [zoe, ada] = ["zoe", "ada"].map(|student| row(student, "events", 90.0));
    for (index, rows, note) in [(1, [ada.clone()], "only here"), (0, [zoe.clone()], "also here")] {
        let shard = Some(Shard { index, of: 2 });
        store.write_rows(&rows, shard).unwrap();
        store.write_notes(&["of both".to_owned(), note.to_owned()], shard).unwrap();
    }
    write(&folder.path().join(SHARDS).join("README"), b"No rows.").unwrap();
    let together = read_parts(&[folder.path().to_owned()]).unwrap();
    assert_eq!(together.rows, [zoe.clone(), ada.clone()]);
    assert_eq!(together.notes, ["of both", "also here", "only here"]);
    assert_eq!(read_rows(folder.path()).unwrap(), [zoe, ada.clone()]);

    store.write_rows(std::slice::from_ref(&ada), None).unwrap();
    assert_eq!(read_rows(folder.path()).unwrap(), std::slice::from_ref(&ada));
    store.drop_parts().unwrap();
    store.drop_parts().expect("there are none any more");
    assert_eq!(read_parts(&[folder.path().to_owned()]).unwrap().rows, [ada]);
}

#[test]
fn a_part_that_is_not_there_or_of_another_division_is_named() {
    let (folder, store) = store();
    let roots = [folder.path().to_owned()];
    assert!(refusal(read_parts(&roots)).contains("holds no grades"));
    let write_part = |index, of| store.write_rows(&[], Some(Shard { index, of })).unwrap();
    write_part(1, 3);
    let missing = refusal(read_parts(&roots));
    assert!(missing.contains("no grades of shard 0/3, 2/3\n"), "{missing}");
    assert!(missing.contains("`--shard 0/3 --resume`"), "{missing}");
    write_part(0, 2);
    let mixed = refusal(read_parts(&roots));
    assert!(mixed.contains("a class in 2 parts and of one in 3"), "{mixed}");
}

#[test]
fn a_line_of_another_format_is_named_and_so_is_one_that_is_no_row() {
    let (folder, store) = store();
    let rows = [row("ada", "events", 90.0), row("bob", "events", 90.0)];
    let path = store.write_rows(&rows, None).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines = text.lines();
    let (first, second) = (lines.next().unwrap(), lines.next().unwrap());
    let format = format!("\"format\":{FORMAT}");
    let newer = second.replace(&format, &format!("\"format\":{}", FORMAT + 1));
    assert_ne!(newer, second);
    for (line, why) in [
        (newer.as_str(), format!("it is of format {}", FORMAT + 1)),
        ("{", String::from("line 2 of")),
        ("{}", String::from("line 2 of")),
    ] {
        write(&path, format!("{first}\n{line}\n").as_bytes()).unwrap();
        let said = refusal(read_rows(folder.path()));
        assert!(said.contains("cannot read line 2 of") && said.contains(&why), "{said}");
    }
}

#[test]
fn rows_are_merged_in_order_the_same_twice_once_and_two_grades_of_one_file_are_refused() {
    let [zoe, ada] = ["zoe", "ada"].map(|student| row(student, "events", 90.0));
    let streams = row("ada", "two_streams", 80.0);
    let all = vec![zoe.clone(), streams.clone(), ada.clone(), zoe.clone()];
    assert_eq!(merge(all).unwrap(), [ada.clone(), streams, zoe]);
    let other = row("ada", "events", 10.0);
    assert_eq!(refusal(merge(vec![ada, other])), "`ada` has two different grades for `events`");
}

#[test]
fn a_student_who_is_forgotten_is_in_no_list_and_no_note_and_all_others_are() {
    let (folder, store) = store();
    let pair = |first: &str, second: &str| Pair {
        first: first.to_owned(),
        second: second.to_owned(),
        share: 0.875,
        first_lines: vec![(1, 3), (7, 9)],
        second_lines: vec![(2, 4)],
    };
    // An exercise and a student may have the same name.
    let pairs = [("ada", pair("bob", "eve")), ("x", pair("ada", "bob")), ("y", pair("bob", "ada"))];
    store.write_similar(&pairs).unwrap();
    let shard = Some(Shard { index: 0, of: 1 });
    store.write_rows(&["ada", "bob"].map(|student| row(student, "x", 90.0)), shard).unwrap();
    let notes = ["ada: hers", "adam: his", "of all"].map(str::to_owned);
    store.write_notes(&notes, shard).unwrap();
    store.write_notes(&notes, None).unwrap();

    store.forget("ada").unwrap();

    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    assert_eq!(
        read(store.similar()),
        "exercise,first,second,share,first_lines,second_lines\nada,bob,eve,0.88,1-3 7-9,2-4\n"
    );
    let together = read_parts(&[folder.path().to_owned()]).unwrap();
    assert_eq!(together.rows, [row("bob", "x", 90.0)]);
    assert_eq!(together.notes, ["adam: his", "of all"]);
    assert_eq!(read(folder.path().join(NOTES)), "adam: his\nof all\n");
}

#[test]
fn a_student_has_pages_a_drawing_and_the_outcomes_of_that_file_alone() {
    let (_folder, store) = store();
    let own = row("ada", "events", 90.0);
    let begins = kept_as("events", &own.file.as_ref().unwrap().sha256);
    for name in [format!("{begins}1.json"), format!("{begins}2.json"), "events-0.json".to_owned()] {
        write(&store.cache().join(name), b"{}").unwrap();
    }
    let nothing = Row { file: None, ..row("bob", "events", 0.0) };
    let holdings = store.holdings(&[own.clone(), nothing]).unwrap();
    let of = |student: &str| -> Vec<String> {
        let own = holdings.iter().filter(|it| it.students.contains(student));
        let mut paths: Vec<_> = own.map(|it| it.path.to_string_lossy().into_owned()).collect();
        paths.sort();
        paths
    };
    let pages = |student: &str| -> Vec<String> {
        let folders = ["gradescope", "prairielearn", "students"];
        let of = |folder: &str| ["", ".html"].map(|end| format!("reports/{folder}/{student}{end}"));
        folders.into_iter().flat_map(of).collect()
    };
    let mut expected = vec![format!("cache/{begins}1.json"), format!("cache/{begins}2.json")];
    expected.push(format!("drawings/{}", own.drawing().unwrap()));
    expected.extend(pages(&slug("ada")));
    assert_eq!(of("ada"), expected);
    assert_eq!(of("bob"), pages(&slug("bob")));
}

#[test]
fn every_student_is_in_one_part_of_a_class_and_no_part_is_empty() {
    let parts = [0, 1, 2].map(|index| Shard { index, of: 3 });
    let mut sizes = [0; 3];
    for student in (0..100).map(|number| format!("student {number}")) {
        let own: Vec<_> = parts.iter().filter(|&&shard| holds(shard, &student)).collect();
        let [own] = own[..] else { panic!("{student} is in {own:?}") };
        sizes[own.index as usize] += 1;
    }
    assert!(sizes.iter().all(|&size| size > 20), "{sizes:?}");
    // A class whose parts are graded by two versions of the checker is still whole.
    let known = ["ada", "bob", "eve", "zoe"];
    let part_of = |student: &&str| parts.iter().position(|&shard| holds(shard, student));
    assert_eq!(known.iter().filter_map(part_of).collect::<Vec<_>>(), [2, 2, 2, 0]);
}

#[test]
fn a_file_that_was_left_beside_its_place_stays_and_the_file_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let left = folder.path().join(format!(".grades.{}-0", std::process::id()));
    std::fs::write(&left, b"half").unwrap();
    let path = folder.path().join("grades");
    write(&path, b"whole").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"whole");
    assert_eq!(std::fs::read(&left).unwrap(), b"half");
    assert!(refusal(write(&folder.path().join("none/grades"), b"")).contains("cannot write"));
}

#[test]
fn a_run_that_ended_before_it_graded_anything_is_begun_anew_without_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("grades");
    let refusal = || Store::open(&root, Earlier::Refused).err().map(|error| error.to_string());
    assert_eq!(refusal(), None);
    assert_eq!(refusal(), None, "its folders are there, and nothing in them");
    for kept in ["cache/1.json", "shards/0-of-2.jsonl", "grades.jsonl"] {
        write_with_folder(&root.join(kept));
        let refusal = refusal().unwrap_or_default();
        assert!(refusal.contains("holds grades already"), "{kept}: {refusal}");
        std::fs::remove_file(root.join(kept)).unwrap();
    }
    std::fs::remove_dir_all(root.join("cache")).unwrap();
    write_with_folder(&root.join("thesis.tex"));
    assert!(refusal().unwrap().contains("is not empty, and holds no grades"));
}

fn write_with_folder(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    write(path, b"{}").unwrap();
}

#[test]
fn the_same_file_may_be_written_by_many_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("outcome.json");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    write(&path, b"the same").unwrap();
                }
            });
        }
    });
    assert_eq!(std::fs::read(&path).unwrap(), b"the same");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}
