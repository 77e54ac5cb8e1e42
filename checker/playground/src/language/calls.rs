//! From the text to calls.

use super::lexer::Kind;
use super::parse::{CALLS, Parsed, Parser, Unit};
use super::syntax::{Kernel, Memory, Way, What, Work};

const SIZE: &str = "a size, such as `4 MiB`";
const TIME: &str = "a time, such as `2 ms`";
const BUFFER: &str = "the name of a buffer";
/// The highest priority that a stream of the profile can have is minus this.
const HIGHEST: i32 = -5;

impl Parser {
    /// The call that begins with `word`; none if no call does.
    pub(super) fn call(&mut self, word: &str) -> Parsed<Option<What>> {
        let begin: fn(&mut Self) -> Parsed<What> = match word {
            "up" | "upload" | "h2d" => |it| it.copy(Way::Up),
            "down" | "download" | "d2h" => |it| it.copy(Way::Down),
            "copy" | "d2d" => |it| it.copy(Way::Inside),
            "memset" | "clear" => |it| Ok(What::Memset(it.name(BUFFER)?)),
            "kernel" | "launch" => Self::kernel,
            "record" => |it| Ok(What::Record(it.name("the name of an event, as in `record e`")?)),
            "wait" => |it| {
                it.takes(&["for"]);
                Ok(What::Wait(it.name("the event or the stream to wait for, as in `wait e`")?))
            },
            "sync" | "synchronize" | "synchronise" => |it| {
                Ok(What::Sync(if it.is_end() {
                    None
                } else {
                    Some(it.name("the name of a stream or an event")?)
                }))
            },
            "free" | "destroy" | "drop" => {
                |it| Ok(What::Free(it.list("what is freed, as in `free x`")?))
            }
            "host" => Self::host,
            "start" => |_| Ok(What::Start),
            "stop" => |_| Ok(What::Stop),
            "stream" | "streams" => Self::stream,
            "event" | "events" => |it| {
                let names = it.list("the name of an event, as in `event e`")?;
                Ok(What::Event { names, timed: it.takes(&["timed"]) })
            },
            "device" | "buffer" => |it| it.memory(Memory::Device),
            "pinned" => |it| it.memory(Memory::Pinned),
            "pageable" => |it| it.memory(Memory::Pageable),
            "queues" | "connections" => |it| Ok(What::Queues(it.sum()?)),
            "gpu" => Self::gpu,
            _ => return Ok(None),
        };
        self.advance();
        begin(self).map(Some)
    }

    fn copy(&mut self, way: Way) -> Parsed<What> {
        let (mut size, mut memory, mut from, mut to) = (None, None, None, None);
        while !self.is_end() {
            if self.is_sum() {
                size = Some(self.amount(Unit::Size, SIZE)?);
            } else if self.takes(&["pinned"]) {
                memory = Some(Memory::Pinned);
            } else if self.takes(&["pageable"]) {
                memory = Some(Memory::Pageable);
            } else if self.takes(&["to", "into"]) {
                to = Some(self.name(BUFFER)?);
            } else if from.is_none() && matches!(self.peek(), Kind::Word(_)) {
                self.takes(&["from"]);
                from = Some(self.name(BUFFER)?);
            } else if !self.takes_sign(',') {
                return self.instead(SIZE);
            }
        }
        if size.is_none() && from.is_none() && to.is_none() {
            return self.instead(if way == Way::Inside {
                "from where and to where, as in `copy x to y`"
            } else {
                SIZE
            });
        }
        Ok(What::Copy { way, size, memory, from, to })
    }

    fn kernel(&mut self) -> Parsed<What> {
        let example = "a time, as in `kernel 2 ms`, or `map 100 rounds`, or `matmul`";
        let (mut work, mut name, mut blocks) = (None, None, None);
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        while !self.is_end() {
            if self.takes(&["on"]) {
                let both = self.list(BUFFER)?;
                reads.extend(both.iter().cloned());
                writes.extend(both);
            } else if self.takes(&["reads", "read"]) {
                reads.extend(self.list(BUFFER)?);
            } else if self.takes(&["writes", "write"]) {
                writes.extend(self.list(BUFFER)?);
            } else if self.takes(&["matmul"]) {
                work = Some(Work::Matmul);
            } else if self.takes(&["map"]) {
                let rounds = self.sum()?;
                self.takes(&["rounds", "round"]);
                work = Some(Work::Map(rounds));
            } else if self.is_sum() {
                let place = self.place();
                let sum = self.sum()?;
                if self.takes(&["blocks", "block"]) {
                    blocks = Some(sum);
                } else {
                    self.back_to(place);
                    work = Some(Work::Time(self.amount(Unit::Time, "`2 ms` or `64 blocks`")?));
                }
            } else if self.word().is_some_and(|word| CALLS.contains(&word.as_str())) {
                return self.fail("another call begins here; write it on a line of its own");
            } else if name.is_none() && matches!(self.peek(), Kind::Word(_)) {
                name = Some(self.name("a name")?.word);
            } else if !self.takes_sign(',') {
                return self.instead(example);
            }
        }
        match work {
            Some(work) => Ok(What::Kernel(Kernel { work, name, blocks, reads, writes })),
            None => self.instead(example),
        }
    }

    fn host(&mut self) -> Parsed<What> {
        if self.is_sum() {
            return Ok(What::Work(self.amount(Unit::Time, TIME)?));
        }
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        while !self.is_end() {
            if self.takes(&["reads", "read"]) {
                reads.extend(self.list(BUFFER)?);
            } else if self.takes(&["writes", "write"]) {
                writes.extend(self.list(BUFFER)?);
            } else if !self.takes_sign(',') {
                return self
                    .instead("a time, as in `host 1 ms`, or `host reads h`, or `host writes h`");
            }
        }
        if reads.is_empty() && writes.is_empty() {
            return self
                .instead("a time, as in `host 1 ms`, or `host reads h`, or `host writes h`");
        }
        Ok(What::Host { reads, writes })
    }

    fn stream(&mut self) -> Parsed<What> {
        let names = self.list("the name of a stream, as in `stream a`")?;
        let (mut priority, mut blocking) = (0, false);
        while !self.is_end() {
            if self.takes(&["blocking"]) {
                blocking = true;
            } else if self.takes(&["priority"]) {
                priority = self.priority()?;
            } else if !self.takes_sign(',') {
                return self.instead("`priority high` or `blocking`, or nothing");
            }
        }
        Ok(What::Stream { names, priority, blocking })
    }

    fn priority(&mut self) -> Parsed<i32> {
        const RANGE: &str = "`high`, `low`, or a number from -5, which goes first, to 0";
        if self.takes(&["high"]) {
            return Ok(HIGHEST);
        }
        if self.takes(&["low"]) {
            return Ok(0);
        }
        let at = self.at();
        let is_negative = self.takes_sign('-');
        let Kind::Number(number) = self.peek().clone() else { return self.instead(RANGE) };
        self.advance();
        let number = number.exact().and_then(|it| i32::try_from(it).ok());
        let signed = number.map(|it| if is_negative { -it } else { it });
        match signed.filter(|it| (HIGHEST..=0).contains(it)) {
            Some(priority) => Ok(priority),
            None => {
                Err(super::Mistake::new(at, format!("there is no such priority; write {RANGE}")))
            }
        }
    }

    fn memory(&mut self, kind: Memory) -> Parsed<What> {
        let names = self.list("a name and a size, as in `device x 4 MiB`")?;
        Ok(What::Memory { kind, names, size: self.amount(Unit::Size, SIZE)? })
    }

    fn gpu(&mut self) -> Parsed<What> {
        let all = (0..crate::profiles::count()).map(crate::profiles::name);
        let known = self.word().and_then(|word| all.clone().position(|name| name == word));
        match known {
            Some(device) => {
                self.advance();
                Ok(What::Gpu(device))
            }
            None => self.instead(&format!("one of {}", all.collect::<Vec<_>>().join(", "))),
        }
    }
}
