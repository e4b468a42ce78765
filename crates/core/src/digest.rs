//! SHA-256 (FIPS 180-4), and its digits.

/// The first 32 bits behind the point of the square or cube root of a prime.
const fn root(prime: u128, power: u32) -> u32 {
    // The largest whole number whose power does not exceed that of the root times 2^32. Of primes below 312 roots are
    // below 18, so that it has 37 bits and its cube 111.
    let (mut low, mut high) = (0_u128, 1 << 37);
    while high - low > 1 {
        let middle = u128::midpoint(low, high);
        if middle.pow(power) <= prime << (32 * power) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low as u32
}

/// The fractions of the roots of the first primes.
const fn roots<const N: usize>(power: u32) -> [u32; N] {
    let mut all = [0; N];
    let (mut at, mut number) = (0, 2_u128);
    while at < N {
        let mut divisor = 2;
        while divisor < number && !number.is_multiple_of(divisor) {
            divisor += 1;
        }
        if divisor == number {
            all[at] = root(number, power);
            at += 1;
        }
        number += 1;
    }
    all
}

/// Cube roots of the first 64 primes (FIPS 180-4, 4.2.2).
const K: [u32; 64] = roots(3);
/// Square roots of the first 8 primes (FIPS 180-4, 5.3.3).
const START: [u32; 8] = roots(2);

fn block(state: &mut [u32; 8], bytes: &[u8]) {
    let mut schedule = [0_u32; 64];
    for (word, part) in schedule.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = part.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    for at in 16..64 {
        let (near, far) = (schedule[at - 2], schedule[at - 15]);
        let a = far.rotate_right(7) ^ far.rotate_right(18) ^ far >> 3;
        let b = near.rotate_right(17) ^ near.rotate_right(19) ^ near >> 10;
        schedule[at] =
            schedule[at - 16].wrapping_add(a).wrapping_add(schedule[at - 7]).wrapping_add(b);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for at in 0..64 {
        let mixed = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let chosen = e & f ^ !e & g;
        let one = h
            .wrapping_add(mixed)
            .wrapping_add(chosen)
            .wrapping_add(K[at])
            .wrapping_add(schedule[at]);
        let mixed = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let two = mixed.wrapping_add(a & b ^ a & c ^ b & c);
        (h, g, f, e) = (g, f, e, d.wrapping_add(one));
        (d, c, b, a) = (c, b, a, one.wrapping_add(two));
    }
    for (word, more) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(more);
    }
}

/// The digest of `bytes`.
#[must_use]
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(64) - 8, 0);
    padded.extend((bytes.len() as u64 * 8).to_be_bytes());
    let mut state = START;
    padded.chunks_exact(64).for_each(|part| block(&mut state, part));
    let mut digest = [0; 32];
    for (part, word) in digest.chunks_exact_mut(4).zip(state) {
        part.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

/// Bytes in hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digests_of_the_standard_come_out() {
        // FIPS 180-2, appendix B, and the digest of nothing.
        for (text, digest) in [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
        ] {
            assert_eq!(hex(&sha256(text.as_bytes())), digest, "{text}");
        }
    }
}
