//! The nearest known words to one that is not known.

/// Below this similarity a word is no suggestion but noise.
const LEAST: f64 = 0.72;

/// At most `most` of the candidates that look like `wanted`, the nearest first.
///
/// Case and the difference between `-` and `_` do not count; a candidate that holds every word of `wanted` is near.
pub fn nearest<'c>(wanted: &str, candidates: impl IntoIterator<Item = &'c str>, most: usize) -> Vec<&'c str> {
    let plain_wanted = plain(wanted);
    let scored = candidates.into_iter().map(|candidate| (likeness(&plain_wanted, &plain(candidate)), candidate));
    let mut near: Vec<(f64, &str)> = scored.filter(|(score, _)| *score >= LEAST).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.dedup_by(|a, b| a.1 == b.1);
    near.truncate(most);
    near.into_iter().map(|(_, candidate)| candidate).collect()
}

/// `did you mean 'a' or 'b'?`, or nothing.
pub fn question(near: &[&str]) -> Option<String> {
    let quoted: Vec<String> = near.iter().map(|name| format!("'{name}'")).collect();
    let (last, rest) = quoted.split_last()?;
    Some(match rest {
        [] => format!("did you mean {last}?"),
        rest => format!("did you mean {} or {last}?", rest.join(", ")),
    })
}

/// The prefix that every tool has says nothing.
fn plain(word: &str) -> String {
    let plain = word.to_lowercase().replace('-', "_");
    plain.strip_prefix("pve_").map(str::to_string).unwrap_or(plain)
}

fn likeness(wanted: &str, candidate: &str) -> f64 {
    if wanted == candidate {
        return 1.0;
    }
    let whole = strsim::jaro_winkler(wanted, candidate).min(0.99);
    let squeezed = strsim::normalized_damerau_levenshtein(&wanted.replace('_', ""), &candidate.replace('_', ""));
    let words = |text: &str| text.split('_').filter(|word| !word.is_empty()).map(str::to_string).collect::<Vec<_>>();
    let (mine, theirs) = (words(wanted), words(candidate));
    let shared = mine.iter().filter(|word| theirs.iter().any(|other| near_words(word, other))).count();
    let overlap = 2.0 * shared as f64 / (mine.len() + theirs.len()).max(1) as f64;
    let single = if mine.len() == 1 && theirs.len() == 1 { whole * 0.9 } else { 0.0 };
    whole.mul_add(0.5, overlap * 0.5).max(squeezed).max(single)
}

fn near_words(a: &str, b: &str) -> bool {
    a == b || (a.len() > 3 && b.len() > 3 && strsim::normalized_damerau_levenshtein(a, b) >= 0.75)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_and_word_order_are_forgiven() {
        let names = ["sshkeys", "nameserver", "name", "ssh-public-keys", "memory"];
        assert_eq!(nearest("ssh-public-key", names, 1), ["ssh-public-keys"]);
        assert_eq!(nearest("ssh_keys", names, 1), ["sshkeys"]);
        assert_eq!(nearest("memroy", names, 1), ["memory"]);
        assert!(nearest("zzz", names, 3).is_empty());
    }

    #[test]
    fn tools_are_found_by_their_words() {
        let names = ["pve_list_vms", "pve_start_vm", "pve_delete_vm", "pve_list_lxcs"];
        assert_eq!(nearest("pve_vm_start", names, 1), ["pve_start_vm"]);
        assert_eq!(nearest("start_vm", names, 1), ["pve_start_vm"]);
        assert!(nearest("pve_nope", names, 3).is_empty());
    }

    #[test]
    fn the_question_reads_well() {
        assert_eq!(question(&[]), None);
        assert_eq!(question(&["a"]).as_deref(), Some("did you mean 'a'?"));
        assert_eq!(question(&["a", "b", "c"]).as_deref(), Some("did you mean 'a', 'b' or 'c'?"));
    }
}
