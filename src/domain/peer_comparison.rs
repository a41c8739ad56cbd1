//! Which values differ from those of their peers, such as the version of one node of a group.

/// Whether each value differs from the most common one. Without a most common value, all differ.
/// A single value has no peers and does not differ.
pub fn differs_from_peers<T: PartialEq>(values: &[T]) -> Vec<bool> {
    let count = |value: &T| values.iter().filter(|other| *other == value).count();
    let counts: Vec<usize> = values.iter().map(count).collect();
    let most = counts.iter().copied().max().unwrap_or(0);
    let usual = values
        .iter()
        .zip(&counts)
        .find(|(_, count)| **count == most);
    let Some((usual, _)) = usual else {
        return Vec::new();
    };
    // Another value that is as common leaves none that is usual.
    let is_tied = values
        .iter()
        .zip(&counts)
        .any(|(value, count)| *count == most && value != usual);
    values
        .iter()
        .map(|value| is_tied || value != usual)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_differs_if_it_is_not_the_most_common_one() {
        for (values, expected) in [
            ("", ""),
            ("a", "."),
            ("aaa", "..."),
            ("aba", ".x."),
            ("ab", "xx"),
            ("aabb", "xxxx"),
            ("aabc", "..xx"),
        ] {
            let values: Vec<char> = values.chars().collect();
            let marks = differs_from_peers(&values).into_iter();
            let marks: String = marks
                .map(|differs| if differs { 'x' } else { '.' })
                .collect();
            assert_eq!(marks, expected, "{values:?}");
        }
    }
}
