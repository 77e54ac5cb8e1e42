//! The pages as they are printed.

use super::book;
use crate::real::root;

/// Every page as wide as A4 leaves it, by the rules for paper: what would have to be scrolled there.
const PAPER: &str = r#"
  await new Promise((done) => setTimeout(done, 3000));
  let boxes = 0;
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument;
    for (const sheet of page.styleSheets) {
      for (const rule of sheet.cssRules) if (rule.media?.mediaText === "print") rule.media.mediaText = "all";
    }
    frame.contentWindow.dispatchEvent(new Event("beforeprint"));
    for (const box of page.querySelectorAll("main, main :is(.table-wrapper, pre > code, figure, .timeline-scroll)")) {
      if (!box.checkVisibility()) continue;
      boxes += 1;
      if (box.scrollWidth <= box.clientWidth + 1) continue;
      said.push(`${frame.getAttribute("src")}: ${box.className || box.tagName}, ${box.scrollWidth} of ${box.clientWidth} px`);
    }
  }
  said.push(`boxes: ${boxes > 200}`);
  finish();
"#;

#[test]
fn on_paper_nothing_is_clipped() {
    let frames: String = std::fs::read_dir(root().join("chapters"))
        .expect("the chapters")
        .flatten()
        .map(|file| file.file_name().to_string_lossy().replace(".md", ".html"))
        .filter(|name| name != "SUMMARY.html")
        .map(|page| format!("<iframe src=\"{page}\" width=\"718\" height=\"1000\"></iframe>"))
        .collect();
    let built = book().with("paper.html", &frames);
    let Some(said) = built.says("paper.html", PAPER) else { return };
    assert_eq!(said, "boxes: true\nerrors: none\nasked of others: nothing");
}

#[test]
fn print_unfolds_what_the_page_folds_and_puts_answers_at_the_back() {
    let act = r#"
      const count = (selector) => document.querySelectorAll(selector).length;
      const folded = () => count("main details:not([open]):not(.timeline-more)");
      const [before, html] = [folded(), document.querySelector("main").innerHTML];
      dispatchEvent(new Event("beforeprint"));
      said.push(`folded on the page: ${before > 0}; on paper: ${folded()}`);
      const answers = "details:is(.reveal, .answer)";
      said.push(`in place: ${count(`main ${answers}`) - count(`main .answers ${answers}`)}`);
      said.push(`at the back: ${count(`main .answers > .back > ${answers}`) === count(".at-back")}`);
      const last = document.querySelector("main").lastElementChild;
      said.push(`last: ${last.className}, of ${count(".answers")}`);
      dispatchEvent(new Event("afterprint"));
      said.push(`as before: ${document.querySelector("main").innerHTML === html}`);
      finish();
    "#;
    let Some(said) = book().says("three_lanes.html", act) else { return };
    insta::assert_snapshot!(said, @"
folded on the page: true; on paper: 0
in place: 0
at the back: true
last: answers, of 1
as before: true
errors: none
asked of others: nothing
");
}
