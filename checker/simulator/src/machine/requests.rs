//! Requests that arrive at the host from elsewhere while a measured region is open: when they
//! arrive, and when they are answered.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use trace::metrics::Latency;
use trace::record::Shortfall;

use super::library::Task;

/// The requests that a region's task has for the host.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// When they arrive, in ns from the beginning of the region.
    arrivals: Vec<u64>,
    /// There is no task: they arrive when the player of a recorded program says so.
    is_played: bool,
    /// How many have been taken.
    taken: usize,
    /// How long those took that have been answered, in ns; none where what was sent was not the
    /// answer.
    answered: BTreeMap<u32, Option<u64>>,
}

impl Requests {
    /// Those of a task.
    pub fn of(task: Option<&dyn Task>) -> Self {
        let arrivals = task.map_or_else(Vec::new, Task::arrivals);
        Self { arrivals, is_played: task.is_none(), ..Self::default() }
    }

    /// The next one, and when it arrives, in ns from the beginning of the region; none if there are
    /// no more.
    pub fn take(&mut self, played_ns: Option<u64>) -> Option<(u32, u64)> {
        if self.is_played {
            self.arrivals.extend(played_ns);
        }
        let at_ns = *self.arrivals.get(self.taken)?;
        self.taken += 1;
        Some((self.taken as u32 - 1, at_ns))
    }

    /// A request is answered so long after the beginning of the region, in ns.
    ///
    /// # Errors
    ///
    /// If it has not been taken, or has been answered.
    pub fn answer(&mut self, request: u32, now_ns: u64) -> Result<(), String> {
        let taken = &self.arrivals[..self.taken];
        let Some(at_ns) = taken.get(request as usize) else {
            return Err(format!("request {request} has not arrived"));
        };
        match self.answered.entry(request) {
            Entry::Vacant(entry) => {
                entry.insert(Some(now_ns.saturating_sub(*at_ns)));
                Ok(())
            }
            Entry::Occupied(_) => Err(format!("request {request} is answered already")),
        }
    }

    /// Counts an answer that was wrong as none.
    pub fn discard(&mut self, request: u32) {
        self.answered.insert(request, None);
    }

    /// How long those waited that have been answered.
    #[must_use]
    pub fn latency(&self) -> Option<Latency> {
        Latency::of(&self.answered.values().flatten().copied().collect::<Vec<_>>())
    }

    /// Those that have not been answered.
    #[must_use]
    pub fn shortfall(&self) -> Option<Shortfall> {
        let found = self.answered.values().flatten().count() as u64;
        let needed = self.arrivals.len() as u64;
        let what = "answers to requests".to_owned();
        (found < needed).then_some(Shortfall { what, needed, found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests() -> Requests {
        Requests { arrivals: vec![100, 200], ..Requests::default() }
    }

    #[test]
    fn requests_are_taken_in_order_and_each_waits_from_its_arrival_to_its_answer() {
        let mut requests = requests();
        assert_eq!(requests.take(None), Some((0, 100)));
        assert_eq!(requests.take(None), Some((1, 200)));
        assert_eq!(requests.take(None), None);
        assert_eq!(requests.latency(), None);
        assert_eq!(requests.answer(1, 250), Ok(()));
        let left = requests.shortfall().map(|it| (it.needed, it.found));
        assert_eq!(left, Some((2, 1)));
        assert_eq!(requests.answer(0, 400), Ok(()));
        assert_eq!(requests.shortfall(), None);
        let latency = Latency { answers: 2, mean_ns: 175, longest_ns: 300 };
        assert_eq!(requests.latency(), Some(latency));
    }

    #[test]
    fn only_where_there_is_no_task_does_a_request_arrive_when_somebody_says() {
        let mut requests = requests();
        assert_eq!(requests.take(Some(7)), Some((0, 100)));
        let mut played = Requests::of(None);
        assert_eq!(played.take(None), None);
        assert_eq!(played.take(Some(7)), Some((0, 7)));
    }

    #[test]
    fn what_is_sent_and_is_not_the_answer_counts_as_none() {
        let mut requests = requests();
        requests.take(None);
        requests.take(None);
        assert_eq!(requests.answer(0, 101), Ok(()));
        assert_eq!(requests.answer(1, 250), Ok(()));
        requests.discard(0);
        assert_eq!(requests.latency(), Latency::of(&[50]));
        let left = requests.shortfall().map(|it| (it.needed, it.found));
        assert_eq!(left, Some((2, 1)));
    }

    #[test]
    fn what_has_not_arrived_or_was_answered_cannot_be_answered() {
        let mut requests = requests();
        requests.take(None);
        assert_eq!(requests.answer(1, 0), Err("request 1 has not arrived".to_owned()));
        assert_eq!(requests.answer(0, 150), Ok(()));
        assert_eq!(requests.answer(0, 160), Err("request 0 is answered already".to_owned()));
        assert_eq!(requests.latency().map(|it| it.mean_ns), Some(50));
    }
}
