//! Quizzes that are wrong in one way: the file and the line are named.

use book::quiz::Shown;
use book::quiz::render::Place;
use book::records::Records;
use insta::assert_snapshot;

use crate::tiny::Tiny;

/// A question that is right in all respects.
const SOUND: &str = r#"[[questions]]
id = "q"
type = "MultipleChoice"
prompt.prompt = "Why is it so?"
prompt.distractors = [
  { text = "because of this", why = "It has nothing to do with this." },
  { text = "because of that", why = "That comes later." },
]
answer.answer = "because of it"
context = "The other comes first."
"#;

fn flaws(source: &str) -> String {
    let (_, flaws) = book::quiz::parse::parse(source, &Records::default());
    flaws.iter().map(|(line, message)| format!("{line}: {message}")).collect::<Vec<_>>().join("\n")
}

/// The flaws of the sound question with `from` replaced by `to`.
fn changed(from: &str, to: &str) -> String {
    assert!(SOUND.contains(from), "the question has no {from}");
    flaws(&SOUND.replace(from, to))
}

#[test]
fn a_sound_question_has_no_flaw() {
    assert_eq!(flaws(SOUND), "");
}

#[test]
fn unknown_and_missing_keys_are_named_with_their_line() {
    assert_snapshot!(changed("context =", "contxt ="), @"10: unknown field `contxt`, expected one of `id`, `type`, `prompt`, `answer`, `context`");
    assert_snapshot!(changed("why = \"That", "because = \"That"), @"7: unknown field `because`, expected `text` or `why`");
    assert_snapshot!(changed("type = \"MultipleChoice\"", "type = \"Multiple\""), @"3: unknown variant `Multiple`, expected one of `MultipleChoice`, `ShortAnswer`, `Tracing`, `Order`, `Numeric`, `Timeline`");
    assert_snapshot!(changed("answer.answer", "answer.stdout"), @"
9: `answer.stdout` has no meaning in this kind of question
1: this kind of question needs `answer.answer`
");
    assert_snapshot!(changed("type = \"MultipleChoice\"", "type = \"Numeric\""), @"
5: `prompt.distractors` has no meaning in this kind of question
9: `answer.answer` has no meaning in this kind of question
1: this kind of question needs `prompt.unit`
");
    assert_snapshot!(flaws(""), @"1: a quiz needs `[[questions]]`");
    assert_snapshot!(flaws(&format!("{SOUND}\n{SOUND}")), @"13: there are two questions `q`");
}

#[test]
fn a_number_needs_a_record_that_exists() {
    let numeric = "[[questions]]\nid = \"n\"\ntype = \"Numeric\"\nprompt.prompt = \"How long?\"\n\
                   prompt.unit = \"ms\"\nanswer.value = \"run makespan\"\nanswer.tolerance = 0.1\n\
                   context = \"So.\"\n";
    assert_snapshot!(flaws(numeric), @"6: there is no record `run`");
    assert_snapshot!(flaws(&numeric.replace("run makespan", "long")), @"6: `long` is neither a number nor a record and a metric");
    assert_eq!(flaws(&numeric.replace("run makespan", "5.5")), "");
}

#[test]
fn an_order_names_its_items() {
    let order = "[[questions]]\nid = \"o\"\ntype = \"Order\"\nprompt.prompt = \"Order them.\"\n\
                 prompt.items = [{ id = \"a\", text = \"one\" }, { id = \"b\", text = \"two\" }]\n\
                 answer.before = [[\"a\", \"b\"]]\ncontext = \"So.\"\n";
    assert_eq!(flaws(order), "");
    assert_snapshot!(flaws(&order.replace("[\"a\", \"b\"]", "[\"b\", \"a\"]")), @"6: the items are to be written in a right order: `b` before `a`");
    assert_snapshot!(flaws(&order.replace("[\"a\", \"b\"]", "[\"a\", \"c\"]")), @"6: no item is called `a` or `c`");
}

#[test]
fn flaws_that_give_the_answer_away_or_mislead_are_named() {
    assert_snapshot!(changed("Why is it so?", "Which of these is not so?"), @"4: a prompt that asks for what does `not` hold is often misread");
    assert_snapshot!(changed("because of that", "none of the above"), @"4: a choice is about the others: `none of the above`");
    assert_snapshot!(changed("because of that", "because of this"), @"
4: two choices are the same: `because of this`
4: two choices are the same: `because of this`
");
    assert_snapshot!(
        changed("because of it", "because of it whatever"),
        @"
4: the right choice is a fifth longer than every other, which gives it away
1: the right choice is the longest in 1 of 1 questions, of at most 0: so the longest is the safe guess
"
    );
    assert_snapshot!(changed("That comes later.", ""), @"4: no `why` for the choice `because of that`");
    let long = "word ".repeat(61);
    assert_snapshot!(changed("The other comes first.", &long), @"4: `context` has 61 words, of at most 60");
}

#[test]
fn the_right_choice_is_the_longest_in_at_most_two_of_five_questions() {
    let longest = |id: usize| {
        let longest = SOUND.replace("because of it", "because of those");
        longest.replace("id = \"q\"", &format!("id = \"longest-{id}\""))
    };
    let all = |long: usize, of: usize| {
        let short =
            (long..of).map(|id| SOUND.replace("id = \"q\"", &format!("id = \"short-{id}\"")));
        flaws(&(0..long).map(longest).chain(short).collect::<Vec<_>>().join("\n"))
    };
    assert_eq!(all(2, 5), "");
    assert_snapshot!(all(3, 5), @"1: the right choice is the longest in 3 of 5 questions, of at most 2: so the longest is the safe guess");
    assert_snapshot!(all(1, 2), @"1: the right choice is the longest in 1 of 2 questions, of at most 0: so the longest is the safe guess");
}

#[test]
fn choices_that_begin_with_numbers_are_in_their_order_and_say_so() {
    let numbers = SOUND.replace("because of this", "10 ms").replace("because of that", "4 ms");
    let numbers = numbers.replace("because of it", "6.5 ms");
    assert_snapshot!(flaws(&numbers), @"4: numbers are shown in their order: `prompt.sortAnswers = true`");
    let sorted = "prompt.sortAnswers = true\nprompt.distractors";
    assert_snapshot!(changed("prompt.distractors", sorted), @"4: `sortAnswers` is for choices that begin with different numbers");
    let sorted = numbers.replace("prompt.distractors", sorted);
    assert_eq!(flaws(&sorted), "");
    assert_eq!(values(&sorted, "chapter"), ["wrong-1", "right", "wrong-0"], "4, 6.5 and 10 ms");
}

/// The values of the choices of a quiz of one question, from above.
fn values(source: &str, quiz: &str) -> Vec<String> {
    let (questions, _) = book::quiz::parse::parse(source, &Records::default());
    let quiz = quiz.to_owned();
    let shown = Shown { quiz, place: Place::End, first: 1, of: 1, questions };
    let html = book::quiz::render::quiz(&shown);
    let parts = html.split(" value=\"").skip(1);
    parts.filter_map(|part| Some(part.split_once('"')?.0.to_owned())).collect()
}

#[test]
fn the_order_of_choices_follows_from_the_name_of_the_question_alone() {
    let first = values(SOUND, "chapter");
    let names = ["wrong-0", "wrong-1", "right"];
    let expected = trace::shuffle::shuffled("q", 3).into_iter().map(|at| names[at]);
    assert_eq!(first, expected.collect::<Vec<_>>());
    let reworded = SOUND.replace("because of this", "because of something else");
    assert_eq!(values(&reworded, "another chapter"), first);
    let renamed = values(&SOUND.replace("id = \"q\"", "id = \"r\""), "chapter");
    assert_ne!(renamed, first, "another name, another order");
}

#[test]
fn a_timeline_question_needs_a_setting_and_an_operation_that_is_there() {
    let timeline = "[[questions]]\nid = \"t\"\ntype = \"Timeline\"\nprompt.prompt = \"Mark it.\"\n\
                    prompt.setting = \"sheet=pipeline&up=pinned&down=pinned&streams=2&chunks=4\"\n\
                    prompt.operations = \"uploads\"\nanswer.which = \"first_beside\"\ncontext = \"So.\"\n";
    assert_eq!(flaws(timeline), "");
    assert_snapshot!(flaws(&timeline.replace("streams=2", "streams=9")), @"5: no playground has `streams=9`");
    assert_snapshot!(flaws(&timeline.replace("streams=2", "streams=1")), @"7: no operation of this setting is what is asked for");
    assert_snapshot!(flaws(&timeline.replace("uploads", "sideways")), @"6: unknown variant `sideways`, expected one of `kernels`, `uploads`, `downloads`");
}

/// A quiz of three questions, and a page that shows them by `directives`.
fn placed(directives: &str) -> Tiny {
    let question = |id: &str| SOUND.replace("\"q\"", &format!("\"{id}\""));
    let quiz = ["a", "b", "c"].map(question).concat();
    Tiny::new(&format!("# A\n\n{directives}")).with("quizzes/q.toml", &quiz)
}

#[test]
fn a_check_shows_its_questions_alone_and_the_quiz_at_the_end_the_rest() {
    let page =
        placed("{{#quiz ../quizzes/q.toml check=b}}\n\nText.\n\n{{#quiz ../quizzes/q.toml}}\n")
            .page();
    let (check, end) = page.split_once("Text.").expect("the text between");
    let asked = |part: &str, id: &str| part.contains(&format!("data-key=\"quiz-q-{id}\""));
    assert_eq!(["a", "b", "c"].map(|id| asked(check, id)), [false, true, false]);
    assert_eq!(["a", "b", "c"].map(|id| asked(end, id)), [true, false, true]);
    assert!(check.contains("class=\"quiz check\" data-key=\"quiz-q\""), "{check}");
    assert!(check.contains("Check yourself</span>") && !check.contains("quiz-end"), "{check}");
    assert!(end.contains("Question 2 of 3") && end.contains("Question 3 of 3"), "{end}");
}

#[test]
fn a_check_of_no_question_of_one_shown_above_and_one_below_the_end_are_named_with_their_line() {
    let end = "{{#quiz ../quizzes/q.toml}}\n";
    let check = |id: &str| format!("{{{{#quiz ../quizzes/q.toml check={id}}}}}\n\n");
    assert_snapshot!(placed(&(check("a,z") + end)).proof(), @"book/chapters/page.md:3: the quiz `q` has no question `z` that is not shown yet");
    assert_snapshot!(placed(&(check("a") + &check("b,a") + end)).proof(), @"book/chapters/page.md:5: the quiz `q` has no question `a` that is not shown yet");
    assert_snapshot!(placed(&(end.to_owned() + "\n" + &check("a"))).proof(), @"book/chapters/page.md:5: this quiz was closed further up: a check stands before the quiz without `check`");
    assert_snapshot!(placed(&check("a")).proof(), @"book/chapters/page.md:3: no `{{#quiz ../quizzes/q.toml}}` without `check` closes this chapter and shows the rest");
    assert_snapshot!(placed(&(check("a,b,c") + end)).proof(), @"book/chapters/page.md:5: nothing is left for the quiz: each question stands further up");
    assert_snapshot!(placed(&("{{#quiz ../quizzes/q.toml only=a}}\n\n".to_owned() + end)).proof(), @"book/chapters/page.md:3: `only=a` is not `check=ID,ID`");
}
