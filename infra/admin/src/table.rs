//! Columns for people.

/// Rows under a head, each column as wide as its widest cell; nothing at all for no rows.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].as_str()).chain([head[column]]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |cells: [&str; N]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect::<Vec<_>>();
        format!("{}\n", padded.join("  ").trim_end())
    };
    let body = rows.iter().map(|row| line(std::array::from_fn(|column| row[column].as_str())));
    std::iter::once(line(head)).chain(body).collect()
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn columns_are_aligned_and_lines_end_with_their_last_cell() {
        let rows = [["a".to_owned(), "x".to_owned()], ["ünlängst".to_owned(), String::new()]];
        assert_eq!(table(["NAME", "B"], &rows), "NAME      B\na         x\nünlängst\n");
        assert_eq!(table(["NAME"], &[]), "");
    }
}
