//! The one source of randomness: order of rounds, gaps, arrivals, simulations.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A reproducible generator (xoshiro256++): the same seed gives the same numbers on every machine.
///
/// Not for secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng(Xoshiro256PlusPlus);

/// The output function of SplitMix64 (Steele, Lea, Flood 2014): a bijection in which each input bit
/// moves about half of the output bits.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Rng {
    /// The generator of this seed.
    pub fn from_seed(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// The generator of one purpose within a seed: streams of different names are independent, so
    /// a new consumer of randomness does not change what the others draw.
    pub fn stream(seed: u64, name: &str) -> Self {
        // FNV-1a, 64 bit: stable across versions and machines, unlike the standard hasher.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self::from_seed(mix(mix(seed) ^ hash))
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 to `n − 1`, all equally likely (Lemire, "Fast Random Integer Generation in
    /// an Interval", 2019).
    ///
    /// # Panics
    /// If `n` is 0: there is no such number.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "no number is below 0");
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            let low = product as u64;
            // The first 2^64 mod n products of each result are surplus; without dropping them some
            // results would come up once more than others.
            if low >= n || low >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }

    /// A number in [0, 1) with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (-53_f64).exp2()
    }

    /// Puts the items in random order, all orders equally likely (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }

    /// A standard normal number (polar method of Marsaglia).
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * square.ln() / square).sqrt();
            }
        }
    }

    /// An exponentially distributed number: the gap between events of a Poisson process that come
    /// every `mean` on average.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        // 1 − unit() lies in (0, 1], whose logarithm is finite.
        -mean * (1.0 - self.unit()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first<const N: usize>(mut rng: Rng) -> [u64; N] {
        std::array::from_fn(|_| rng.next_u64())
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers_for_ever() {
        // Computed by an independent implementation of the published algorithms.
        let seeded =
            [14_971_601_782_005_023_387, 13_781_649_495_232_077_965, 1_847_458_086_238_483_744];
        assert_eq!(first(Rng::from_seed(1)), seeded);
        let named =
            [13_490_263_713_346_501_170, 9_968_574_811_781_546_529, 1_234_708_112_397_851_015];
        assert_eq!(first(Rng::stream(1, "order")), named);
        let mut order: Vec<u8> = (0..8).collect();
        Rng::stream(1, "order").shuffle(&mut order);
        assert_eq!(order, [2, 6, 1, 4, 7, 0, 3, 5]);
    }

    #[test]
    fn streams_differ_by_seed_and_by_name() {
        let mut seen = std::collections::HashSet::new();
        for seed in 0..50 {
            assert!(seen.insert(first::<2>(Rng::from_seed(seed))));
            for name in ["", "a", "b", "order", "gaps", "redro"] {
                assert!(seen.insert(first::<2>(Rng::stream(seed, name))), "{seed} {name}");
            }
        }
    }

    #[test]
    fn neighbouring_streams_are_uncorrelated() {
        let (mut a, mut b) = (Rng::stream(7, "a"), Rng::stream(7, "b"));
        let n = 20_000;
        let equal_bits: u32 = (0..n).map(|_| (!(a.next_u64() ^ b.next_u64())).count_ones()).sum();
        let mean = f64::from(equal_bits) / f64::from(n);
        // 32 expected, standard error 4/sqrt(n) = 0.028.
        assert!((mean - 32.0).abs() < 0.12, "{mean}");
    }

    #[test]
    fn below_is_uniform_and_in_range() {
        let mut rng = Rng::from_seed(3);
        for n in [1, 2, 3, 10] {
            let mut counts = vec![0_u32; n];
            (0..30_000).for_each(|_| counts[rng.below(n as u64) as usize] += 1);
            let expected = 30_000.0 / n as f64;
            let chi: f64 =
                counts.iter().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum();
            assert!(chi < 30.0, "{n}: {counts:?}");
        }
        // Without rejection half of these results would be multiples of 3: of four inputs two
        // would share one of the three results.
        let multiples = (0..30_000).filter(|_| rng.below(3 << 62).is_multiple_of(3)).count();
        assert!((9_600..10_400).contains(&multiples), "{multiples}");
    }

    #[test]
    #[should_panic(expected = "no number is below 0")]
    fn below_zero_is_a_mistake() {
        Rng::from_seed(1).below(0);
    }

    #[test]
    fn every_order_of_a_shuffle_is_equally_likely() {
        let mut rng = Rng::from_seed(5);
        let mut counts = std::collections::HashMap::new();
        for _ in 0..24_000 {
            let mut items = [0, 1, 2, 3];
            rng.shuffle(&mut items);
            *counts.entry(items).or_insert(0_i32) += 1;
        }
        assert_eq!(counts.len(), 24);
        assert!(counts.values().all(|c| (c - 1_000).abs() < 160), "{counts:?}");
    }

    #[test]
    fn normal_and_exponential_have_their_moments() {
        let mut rng = Rng::from_seed(9);
        let n = 100_000;
        let normal: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let mean = normal.iter().sum::<f64>() / f64::from(n);
        let variance = normal.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
        let beyond = normal.iter().filter(|x| x.abs() > 1.959_964).count();
        assert!(mean.abs() < 0.015 && (variance - 1.0).abs() < 0.025, "{mean} {variance}");
        assert!((4_700..5_300).contains(&beyond), "{beyond}");
        let gaps: Vec<f64> = (0..n).map(|_| rng.exponential(5.0)).collect();
        let mean = gaps.iter().sum::<f64>() / f64::from(n);
        let long = gaps.iter().filter(|g| **g > 5.0 * std::f64::consts::LN_2).count();
        assert!((mean - 5.0).abs() < 0.08 && gaps.iter().all(|g| *g >= 0.0), "{mean}");
        assert!((49_200..50_800).contains(&long), "{long}");
    }
}
