//! Tests of the layouts and statements.

use super::*;

fn table(layout: TableLayout, columns: &[(&str, &str)]) -> FoundTable {
    let text = |text: &&str| (*text).to_owned();
    FoundTable {
        layout,
        schema: "public".to_owned(),
        name: layout.default_name().to_owned(),
        oid: 1,
        columns: columns
            .iter()
            .map(|(name, kind)| (text(name), text(kind)))
            .collect(),
        can_select: true,
        can_update: true,
        can_delete: true,
    }
}

#[test]
fn identifiers_are_quoted() {
    let mut table = table(TableLayout::Knex, &[]);
    table.schema = "a\"; DROP TABLE b; --".to_owned();
    let sql = table.select();
    assert!(sql.contains("FROM \"a\"\"; DROP TABLE b; --\".\"knex_migrations_lock\" WHERE"));
}

#[test]
fn a_table_needs_the_columns_and_types_of_its_layout() {
    let columns = [
        ("name", "character varying(64)"),
        ("lock_until", "timestamp(3) without time zone"),
        ("locked_at", "timestamp(3) without time zone"),
        ("locked_by", "character varying(255)"),
    ];
    assert!(table(TableLayout::ShedLock, &columns).matches_layout());
    assert!(!table(TableLayout::ShedLock, &columns[..3]).matches_layout());
    let mut other_type = columns;
    other_type[1].1 = "bigint";
    assert!(!table(TableLayout::ShedLock, &other_type).matches_layout());
}

#[test]
fn times_are_compared_in_the_zone_of_their_column() {
    let zoned = [("lock_until", "timestamp with time zone")];
    let zoned = table(TableLayout::ShedLock, &zoned);
    assert!(
        zoned
            .select()
            .contains("lock_until > clock_timestamp() AND")
    );
    let plain = [("lock_until", "timestamp without time zone")];
    let plain = table(TableLayout::ShedLock, &plain);
    assert!(
        plain
            .select()
            .contains("lock_until > (clock_timestamp() AT TIME ZONE 'utc') AND")
    );
}

#[test]
fn two_rows_never_have_the_same_name() {
    let table = table(TableLayout::SpringJdbc, &[]);
    assert_eq!(
        table.lock_name("DEFAULT", Some("a/b")),
        "public.int_lock:DEFAULT/a/b"
    );
    assert_ne!(
        table.lock_name("a/b", Some("c")),
        table.lock_name("a", Some("b/c"))
    );
    assert_ne!(
        table.lock_name("a%2Fb", Some("c")),
        table.lock_name("a/b", Some("c"))
    );
}

#[test]
fn a_row_expires_only_in_layouts_with_an_expiry() {
    let row = LockRow::new((
        "a".to_owned(),
        None,
        Some("host".to_owned()),
        Some(5_000_000),
        Some(9_000_000),
        None,
    ));
    let now = Timestamp::from_millis(6_000);
    let at = Timestamp::from_millis(8_900);
    let lease = row.lease(TableLayout::ShedLock, now, 100);
    assert_eq!(lease, Lease::Expires { at, left_ms: 2_900 });
    assert_eq!(row.lease(TableLayout::Liquibase, now, 0), Lease::Never);
    let forever = LockRow {
        until_us: None,
        ..row
    };
    assert_eq!(forever.lease(TableLayout::ShedLock, now, 0), Lease::Never);
    assert_eq!(
        forever.lease(TableLayout::DbScheduler, now, 0),
        Lease::Session
    );
}
