//! C74: a static whose section has bounds that other files could ask for

use lab::Result;
use lab::first_launch::Session;

#[unsafe(link_section = "linkme_list")]
#[used]
static ENTRY: u64 = 1;

@HONEST@