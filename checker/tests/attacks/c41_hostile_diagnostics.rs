//! C41: the compiler says what the terminal, a page or CI would obey

use lab::Result;
use lab::first_launch::Session;

compile_error!("\u{1b}]0;owned\u{7}\u{1b}[2J<script>alert(1)</script>\n::error::owned\n::add-mask::0");

@HONEST@