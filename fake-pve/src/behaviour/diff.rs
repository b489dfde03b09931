//! Changes of a file as `diff -u` shows them.

/// Lines of unchanged text around each change.
const CONTEXT: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line<'t> {
    Same(&'t str),
    Gone(&'t str),
    New(&'t str),
}

/// The difference of two texts, each with the name of its file; empty when there is none.
pub(crate) fn unified(old: (&str, &str), new: (&str, &str)) -> String {
    let lines = lines(&old.1.lines().collect::<Vec<_>>(), &new.1.lines().collect::<Vec<_>>());
    let hunks = hunks(&lines);
    if hunks.is_empty() {
        return String::new();
    }
    let mut text = format!("--- {}\n+++ {}\n", old.0, new.0);
    for (from, to) in hunks {
        let before = |count: fn(&Line<'_>) -> bool| lines[..from].iter().filter(|line| count(line)).count() + 1;
        let within = |count: fn(&Line<'_>) -> bool| lines[from..to].iter().filter(|line| count(line)).count();
        let of_old: fn(&Line<'_>) -> bool = |line| !matches!(line, Line::New(_));
        let of_new: fn(&Line<'_>) -> bool = |line| !matches!(line, Line::Gone(_));
        let old = range(before(of_old), within(of_old));
        let new = range(before(of_new), within(of_new));
        text.push_str(&format!("@@ -{old} +{new} @@\n"));
        for line in &lines[from..to] {
            let (mark, line) = match line {
                Line::Same(line) => (' ', line),
                Line::Gone(line) => ('-', line),
                Line::New(line) => ('+', line),
            };
            text.push_str(&format!("{mark}{line}\n"));
        }
    }
    text
}

/// Where a part begins and how long it is: one line needs no length, and none stands behind the line before.
fn range(first: usize, lines: usize) -> String {
    match lines {
        0 => format!("{},0", first - 1),
        1 => first.to_string(),
        _ => format!("{first},{lines}"),
    }
}

/// A shortest way from one text to the other, by the longest common subsequence.
fn lines<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<Line<'t>> {
    let mut common = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    for at in (0..old.len()).rev() {
        for other in (0..new.len()).rev() {
            common[at][other] = if old[at] == new[other] {
                common[at + 1][other + 1] + 1
            } else {
                common[at + 1][other].max(common[at][other + 1])
            };
        }
    }
    let (mut at, mut other, mut lines) = (0, 0, Vec::new());
    while at < old.len() || other < new.len() {
        if at < old.len() && other < new.len() && old[at] == new[other] {
            lines.push(Line::Same(old[at]));
            (at, other) = (at + 1, other + 1);
        } else if at < old.len() && (other == new.len() || common[at + 1][other] >= common[at][other + 1]) {
            lines.push(Line::Gone(old[at]));
            at += 1;
        } else {
            lines.push(Line::New(new[other]));
            other += 1;
        }
    }
    lines
}

/// Changes with their context, as ranges of lines; those that touch are one.
fn hunks(lines: &[Line<'_>]) -> Vec<(usize, usize)> {
    let mut hunks: Vec<(usize, usize)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if matches!(line, Line::Same(_)) {
            continue;
        }
        let (from, to) = (at.saturating_sub(CONTEXT), (at + 1 + CONTEXT).min(lines.len()));
        match hunks.last_mut() {
            Some(last) if last.1 >= from => last.1 = to,
            _ => hunks.push((from, to)),
        }
    }
    hunks
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn changes_stand_in_their_context() {
        let old = "a\nb\nc\nd\ne\nf\ng\n";
        let new = "a\nb\nc\nD\ne\nf\ng\n";
        let shown = unified(("old", old), ("new", new));
        assert_eq!(shown, "--- old\n+++ new\n@@ -1,7 +1,7 @@\n a\n b\n c\n-d\n+D\n e\n f\n g\n");
        assert_eq!(unified(("old", old), ("new", old)), "");
    }

    #[test]
    fn distant_changes_are_apart() {
        let old: String = (0..30).map(|n| format!("{n}\n")).collect();
        let new = old.replace("2\n3\n", "3\n").replace("25\n", "25\nx\n");
        let shown = unified(("old", &old), ("new", &new));
        assert_eq!(shown.matches("@@ -").count(), 2, "{shown}");
        assert!(shown.contains("-2\n") && shown.contains("+x\n"), "{shown}");
    }
}
