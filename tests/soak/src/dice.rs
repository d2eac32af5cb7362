//! Random decisions that a seed repeats: every decision is drawn from the seed and from what it is about, so that one
//! more decision somewhere moves no other.

/// One stream of decisions.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

/// The constants of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Dice {
    /// The stream about the `number`-th thing of a kind.
    #[must_use]
    pub(crate) fn new(seed: u64, about: &str, number: usize) -> Self {
        let named = about.bytes().fold(mix(seed), |state, byte| mix(state ^ u64::from(byte)));
        Self(mix(named ^ number as u64))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number from 0 to `count` - 1; 0 if there is none.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % (count.max(1) as u64)).unwrap_or(0)
    }

    /// A number from `least` to `most`.
    pub(crate) fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most + 1 - least)
    }

    /// True in so many of a hundred cases.
    pub(crate) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// One of these.
    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_another_does_not() {
        let roll = |seed, about, number| {
            let mut dice = Dice::new(seed, about, number);
            (0..8).map(|_| dice.below(1_000)).collect::<Vec<_>>()
        };
        assert_eq!(roll(1, "send", 0), roll(1, "send", 0));
        for other in [roll(2, "send", 0), roll(1, "round", 0), roll(1, "send", 1)] {
            assert_ne!(roll(1, "send", 0), other);
        }
    }
}
