//! The order in which the items of a question are shown.
//!
//! It follows from the question's name and the number of items alone, so it is the same on a page,
//! on paper and in the terminal, on every machine, and after a change of wording. What is kept of
//! an answer counts the items as the file has them, so an answer outlives a change of the order.

/// Places in the file, in the order in which `count` items of the question `id` are shown: as they
/// stand where their order means something, else shuffled.
#[must_use]
pub fn order(id: &str, count: usize, in_order: bool) -> Vec<usize> {
    if in_order { (0..count).collect() } else { shuffled(id, count) }
}

/// Places in the file, shuffled.
#[must_use]
pub fn shuffled(id: &str, count: usize) -> Vec<usize> {
    // FNV-1a; what follows is splitmix64. Any mixing will do, as long as it never changes.
    let mut state = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut below = |bound: usize| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    };
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, below(last + 1));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_each_item_once_and_never_changes() {
        for count in 0..=10 {
            let mut order = shuffled("rank", count);
            order.sort_unstable();
            assert_eq!(order, (0..count).collect::<Vec<_>>());
        }
        // Pages and answers that people have kept go by these.
        assert_eq!(shuffled("rank", 4), [3, 2, 0, 1]);
        assert_eq!(shuffled("flag", 4), [2, 0, 3, 1]);
        assert_eq!(shuffled("why", 3), [2, 0, 1]);
    }

    #[test]
    fn each_item_is_about_as_often_in_each_place() {
        let mut counts = [[0_u32; 4]; 4];
        for question in 0..4000 {
            let order = shuffled(&format!("question-{question}"), 4);
            order.iter().enumerate().for_each(|(place, item)| counts[*item][place] += 1);
        }
        // A thousand each, give or take four standard deviations of 27.
        assert!(counts.iter().flatten().all(|count| (890..=1110).contains(count)), "{counts:?}");
    }
}
