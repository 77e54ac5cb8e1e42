//! Hostile text in every place where a student could have put some.

use std::cell::RefCell;
use std::collections::BTreeSet;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use pulldown_cmark::{Options, Parser};

use super::class::{Around, class, finding, of, on_gpu, submission};
use super::gradebook::{EXPORT, columns};
use super::other_side::{read_classroom50, read_gradescope, read_prairielearn};
use crate::export::*;
use crate::record::{Finding, OnGpu};

/// Text that somebody might choose for a name, print, or panic with.
const HOSTILE: [&str; 34] = [
    "",
    " ",
    "=cmd|'/c calc'!A1",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1+1",
    "'=1",
    "\"quoted\", 'and' , more",
    "line\nanother\r\nthird\rfourth",
    "<script>alert(1)</script>",
    "</style></title></textarea><img src=x onerror=alert(1)>",
    "\" onmouseover=\"alert(1)\" x=\"",
    "' onfocus='alert(1)",
    "javascript:alert(1)",
    "&lt;b&gt;&#60;b&#62;&amp;",
    "]]><evil/>",
    "<!-- --> <![CDATA[ x ]]> <?php ?>",
    "{{7*7}} ${7*7} #{7*7} <%= 7*7 %>",
    "::error file=a,line=1::pwned\n::set-output name=x::y",
    "##[error]pwned",
    "\x1b[31mred\x1b]0;title\x07\x1b]52;c;aGk=\x07",
    "nul\0 bell\x07 back\x08 del\x7f c1\u{9b}31m",
    "\u{202e}evil\u{202c}\u{2066}x\u{2069}\u{200f}",
    "zero\u{200b}width\u{feff}\u{2060}\u{ad}",
    "\u{fffe}\u{ffff}\u{fffd}\u{1fffe} \\ud800",
    "tag\u{e0041}\u{e007f}",
    "sep\u{2028}par\u{2029}nel\u{85}",
    "``` `` ` ~~~ ````````",
    "```\n# heading\n<b>x</b>\n```",
    "a | b || \\| c | `d|e`",
    "[link](javascript:x) ![img](http://evil.example/x) @octocat #1 https://evil.example",
    "- [ ] item\n> quote\n| a | b |\n| - | - |\n$$x$$",
    "../../etc/passwd",
];

/// Rows of one student, with `text` wherever a student could have put some.
fn planted(text: &str) -> Vec<Row> {
    let mut rows = class();
    rows.retain(|row| row.student == "grace" || row.student == "linus");
    for row in &mut rows {
        let text = || text.to_owned();
        let more = || Finding {
            message: text(),
            help: Some(text()),
            ..finding("SWIM-C03", "shared-stream", "warning", "")
        };
        // Two students stay two, in this order.
        row.student = match row.student.as_str() {
            "grace" => text(),
            _ => format!("{}~", text()),
        };
        row.message = text();
        row.notes.push(text());
        row.flags.push(text());
        row.compiler = text();
        row.output = text();
        // Why there is no number may be a panic of the student's.
        row.gpu = Some(OnGpu { makespan_ns: None, message: text(), ..on_gpu() });
        row.causes.push(Finding { file: Some(text()), ..more() });
        row.hazards.push(more());
        row.advice.push(more());
        if let Some(file) = &mut row.file {
            file.path = text();
            file.ignored.push(text());
        }
        if let Some(replaced) = &mut row.replaced {
            replaced.reason = text();
            replaced.by = text();
        }
    }
    rows
}

/// The same with a harmless word.
fn harmless() -> Vec<Row> {
    planted("word")
}

/// What else has names in it.
fn around(text: &str) -> Around {
    let mut around = Around::new();
    around.identical[0].students = vec![text.to_owned(), format!("{text}~")];
    let person = Person {
        name: Some(text.to_owned()),
        login: Some(text.to_owned()),
        id: Some(text.to_owned()),
        email: Some(text.to_owned()),
        participant: Some(text.to_owned()),
    };
    around.people = BTreeMap::from([(text.to_owned(), person)]);
    around
}

/// Nothing in `text` moves a cursor, turns letters round or cannot be seen.
fn assert_plain(text: &str, what: &str) {
    let hidden = text.chars().find(|&c| {
        (c.is_control() && c != '\n' && c != '\t')
            || "\u{202e}\u{2066}\u{200f}\u{200b}\u{feff}\u{2060}\u{2028}\u{fffe}\u{ffff}\u{e0041}"
                .contains(c)
    });
    assert_eq!(hidden, None, "{what}: {text}");
}

/// No line is a command of a GitHub job's log.
fn assert_no_commands(text: &str, what: &str) {
    for line in text.lines() {
        assert!(!line.trim_start().starts_with("::"), "{what}: {line}");
    }
}

/// Elements and attributes of a page, as a browser finds them, but for the values.
fn elements(page: &str) -> Vec<String> {
    struct Sink(RefCell<Vec<String>>);
    impl TokenSink for Sink {
        type Handle = ();
        fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
            match token {
                Token::TagToken(tag) => {
                    let kind = if tag.kind == TagKind::StartTag { "" } else { "/" };
                    let mut names: Vec<String> =
                        tag.attrs.iter().map(|it| it.name.local.to_string()).collect();
                    names.sort();
                    self.0.borrow_mut().push(format!("{kind}{} {}", tag.name, names.join(" ")));
                    return match tag.name.as_ref() {
                        "style" if tag.kind == TagKind::StartTag => {
                            TokenSinkResult::RawData(html5ever::tokenizer::states::RawKind::Rawtext)
                        }
                        "title"
                            if tag.kind == TagKind::StartTag
                                && !self.0.borrow().iter().any(|it| it.starts_with("svg")) =>
                        {
                            TokenSinkResult::RawData(html5ever::tokenizer::states::RawKind::Rcdata)
                        }
                        _ => TokenSinkResult::Continue,
                    };
                }
                Token::CommentToken(_) => self.0.borrow_mut().push("comment".to_owned()),
                Token::NullCharacterToken => self.0.borrow_mut().push("null".to_owned()),
                Token::ParseError(error) => {
                    self.0.borrow_mut().push(format!("mistake: {error}"));
                }
                _ => {}
            }
            TokenSinkResult::Continue
        }
    }
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(page));
    let tokenizer = Tokenizer::new(
        Sink(RefCell::default()),
        TokenizerOpts { exact_errors: true, ..TokenizerOpts::default() },
    );
    _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.0.into_inner()
}

/// What Markdown makes of a text, but for what stands in code.
fn markdown_parts(text: &str) -> Vec<String> {
    use pulldown_cmark::Event;
    Parser::new_ext(text, Options::all())
        .map(|event| match event {
            Event::Start(tag) => format!("{tag:?}"),
            Event::End(tag) => format!("/{tag:?}"),
            Event::Text(_) => "text".to_owned(),
            Event::Code(_) => "code".to_owned(),
            event => format!("{event:?}"),
        })
        // One text may come in pieces.
        .fold(Vec::new(), |mut parts: Vec<String>, part| {
            if !(part == "text" && parts.last().is_some_and(|last| last == "text")) {
                parts.push(part);
            }
            parts
        })
}

#[test]
fn hostile_text_is_no_markup_in_a_page() {
    let pages = |text: &str, rows: &[Row]| {
        let around = around(text);
        let context = around.context();
        let of_student: Vec<Row> =
            rows.iter().filter(|row| row.student == rows[0].student).cloned().collect();
        [class_page::text(rows, &context), student_page::text(&of_student, &context)]
    };
    let expected = pages("word", &harmless()).map(|page| elements(&page));
    for tags in &expected {
        let mistakes: Vec<&String> = tags.iter().filter(|tag| tag.starts_with("mistake")).collect();
        assert!(mistakes.is_empty(), "{mistakes:?}");
        let names: BTreeSet<&str> = tags.iter().filter_map(|tag| tag.split(' ').next()).collect();
        for never in ["script", "img", "iframe", "link", "form", "input", "object", "base"] {
            assert!(!names.contains(never), "{never}");
        }
    }
    for text in HOSTILE {
        // Without any text a part is left out, which is no markup either.
        if text.trim().is_empty() {
            continue;
        }
        for (page, expected) in pages(text, &planted(text)).iter().zip(&expected) {
            // A person's name that is not the student's has an element of its own.
            assert_eq!(&elements(page), expected, "{text:?}");
            assert_plain(page, text);
        }
    }
}

#[test]
fn a_page_allows_itself_nothing() {
    let (rows, around) = (class(), Around::new());
    for page in [
        class_page::text(&rows, &around.context()),
        student_page::text(&of(&rows, "ada"), &around.context()),
    ] {
        let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
                      style-src 'unsafe-inline'; img-src data:";
        let at = page.find(policy).expect("there is a policy");
        assert!(page.find("<style").expect("there is a style") > at);
        let tags = elements(&page);
        let handlers = tags.iter().filter(|tag| tag.contains(" on")).count();
        assert_eq!(handlers, 0);
        // Other pages of the folder, places on this one, and the name of SVG's namespace.
        for part in page.split("href=\"").skip(1) {
            assert!(part.starts_with('#') || part.starts_with("students/"), "{part:.40}");
        }
        assert!(!page.replace("http://www.w3.org/2000/svg", "").contains("://"));
    }
}

#[test]
fn hostile_text_is_text_in_markdown() {
    let parts = |text: &str| {
        let around = around(text);
        let mut rows = planted(text);
        rows.iter_mut().for_each(|row| row.hazards.truncate(1));
        let markdown = markdown::text(&rows, &around.context());
        assert_plain(&markdown, text);
        assert_no_commands(&markdown, text);
        markdown_parts(&markdown)
    };
    let expected = parts("word");
    for text in HOSTILE {
        if text.trim().is_empty() {
            continue;
        }
        assert_eq!(parts(text), expected, "{text:?}");
    }
}

#[test]
fn hostile_text_is_text_in_a_terminal() {
    for text in HOSTILE {
        let around = around(text);
        let summary = summary::text(&planted(text), &around.context(), Style::Plain);
        assert_plain(&summary, text);
        assert_no_commands(&summary, text);
        assert_eq!(
            summary.lines().count(),
            summary::text(&harmless(), &self::around("word").context(), Style::Plain)
                .lines()
                .count(),
            "{summary}"
        );
    }
}

#[test]
fn hostile_text_is_a_cell_in_tables() {
    for text in HOSTILE {
        let (rows, around) = (planted(text), around(text));
        let context = around.context();
        let columns = columns();
        let gradebook = Gradebook { export: EXPORT, columns: &columns };
        let moodle = moodle::tables(&rows, &context).expect("it is written");
        let canvas = canvas::fill(&rows, &context, &gradebook).expect("it is filled");
        let tables = [
            csv::text(&rows).expect("it is written"),
            moodle.complete,
            moodle.unfinished,
            canvas.unmatched,
        ];
        for table in &tables {
            assert_plain(table, text);
            assert_no_commands(table, text);
            let mut reader =
                ::csv::ReaderBuilder::new().has_headers(false).from_reader(table.as_bytes());
            for record in reader.records() {
                for cell in &record.expect("all records are as long as the first") {
                    let is_number = cell.parse::<f64>().is_ok();
                    let first = cell.chars().next();
                    let is_formula = matches!(first, Some('=' | '+' | '-' | '@' | '\t' | '\r'));
                    assert!(is_number || !is_formula, "{cell:?}");
                }
            }
        }
        // And the name comes back.
        let mut reader = ::csv::Reader::from_reader(tables[0].as_bytes());
        let record = reader.records().next().expect("there is one").expect("it is a record");
        let cell = record[0].strip_prefix('\'').unwrap_or(&record[0]);
        assert_eq!(cell, plain::line(text));
    }
}

#[test]
fn hostile_text_is_text_in_junit() {
    for text in HOSTILE {
        let (rows, around) = (planted(text), around(text));
        let report = junit::text(&rows, &around.context()).expect("it is written");
        assert_plain(&report, text);
        assert_no_commands(&report, text);
        let read = quick_junit::Report::deserialize_from_str(&report).expect("it is JUnit");
        assert_eq!((read.tests, read.failures, read.errors), (6, 4, 1), "{report}");
        let suites = &read.test_suites;
        let names: Vec<&str> = suites.iter().map(|suite| suite.name.as_str()).collect();
        let expected = [text.to_owned(), format!("{text}~")].map(|name| plain::name(&name));
        assert_eq!(names.len(), 2);
        for name in names {
            let name = name.trim();
            assert!(expected.iter().any(|expected| expected.trim() == name), "{name:?}");
        }
    }
}

#[test]
fn hostile_text_is_text_in_json() {
    for text in HOSTILE {
        let (rows, around) = (planted(text), around(text));
        let context = around.context();
        for row in &rows {
            let line = jsonl::line(row).expect("it is written");
            assert_eq!(line.lines().count(), 1, "{line}");
            assert_eq!(&serde_json::from_str::<Row>(&line).expect("it is a row"), row);
        }
        let first: Vec<Row> =
            rows.iter().filter(|row| row.student == rows[0].student).cloned().collect();
        let last: Vec<Row> =
            rows.iter().filter(|row| row.student != rows[0].student).cloned().collect();
        for rows in [&first, &last] {
            read_gradescope(&gradescope::text(rows, &context).expect("it is written"));
            read_prairielearn(&prairielearn::text(rows, &context).expect("it is written"));
        }
        let result = classroom50::text(&first, &submission()).expect("it is written");
        read_classroom50(&result);
        assert!(classroom50::text(&last, &submission()).is_err());
        for text in [result, gradescope::text(&first, &context).expect("it is written")] {
            let value: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
            strings(&value, &mut |string| assert_plain(string, string));
        }
    }
}

/// Every string in a JSON value but the names of fields.
fn strings(value: &serde_json::Value, look: &mut dyn FnMut(&str)) {
    match value {
        serde_json::Value::String(string) => look(string),
        serde_json::Value::Array(values) => values.iter().for_each(|value| strings(value, look)),
        serde_json::Value::Object(fields) => fields.values().for_each(|value| strings(value, look)),
        _ => {}
    }
}
