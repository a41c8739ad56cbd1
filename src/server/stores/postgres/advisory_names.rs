//! Names for the numbers of advisory locks: those of the configuration, and those of libraries that
//! derive the number from the name of the database in a documented way.

use std::collections::HashMap;

use crate::server::config::{AdvisoryKey, AdvisoryName};

/// Numbers that are the same in every database.
///
/// Sources: `schema-engine` of Prisma (`ADVISORY_LOCK_TIMEOUT`), `runner.ts` of node-pg-migrate
/// (`PG_MIGRATE_LOCK_ID`), `with-lock.ts` of postgres-migrations, `lock/postgres.go` of goose
/// (`DefaultLockID`, before and since its version 3.22).
const FIXED: [(i64, &str); 5] = [
    (72_707_369, "prisma-migrate"),
    (7_241_865_325_823_964, "node-pg-migrate"),
    (-8_525_285_245_963_000_605, "postgres-migrations"),
    (4_097_083_626, "goose"),
    (5_887_940_537_704_921_958, "goose"),
];
/// `ActiveRecord::Migrator::MIGRATOR_SALT`, multiplied by the CRC-32 of the database's name.
const RAILS_SALT: i64 = 2_053_462_845;
/// `generate_lock_id` of sqlx, multiplied by the CRC-32 of the database's name.
const SQLX_SALT: i64 = 0x3d32_ad9e;
/// `advisoryLockIDSalt` of golang-migrate, multiplied by a CRC-32 as 32-bit numbers.
const GOLANG_MIGRATE_SALT: u32 = 1_486_364_155;
/// The default name of golang-migrate's table.
const GOLANG_MIGRATE_TABLE: &str = "schema_migrations";
/// `LOCK_MAGIC_NUM` of `PostgreSQLAdvisoryLockTemplate` in Flyway: "Flyway" in ASCII, to which the
/// hash of the table's quoted name is added.
const FLYWAY_MAGIC: i64 = 0x466c_7977_6179;
/// The default name of Flyway's table, and the one before version 5.
const FLYWAY_TABLES: [&str; 2] = ["flyway_schema_history", "schema_version"];

/// Names for numbers.
#[derive(Clone, Debug, Default)]
pub struct AdvisoryNames(HashMap<AdvisoryKey, String>);

impl AdvisoryNames {
    /// The names of the configuration, and the numbers that libraries use in a database of this
    /// name. `schemas` are those in which migration tables may be.
    pub fn new<'a>(
        configured: &[AdvisoryName],
        database: &str,
        schemas: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut names = HashMap::new();
        for (number, name) in FIXED {
            names.insert(AdvisoryKey::Number(number), name.to_owned());
        }
        let of_database = i64::from(crc32(database.as_bytes()));
        let rails = RAILS_SALT.wrapping_mul(of_database);
        names.insert(AdvisoryKey::Number(rails), "rails-migrations".to_owned());
        let sqlx = SQLX_SALT.wrapping_mul(of_database);
        names.insert(AdvisoryKey::Number(sqlx), "sqlx-migrate".to_owned());
        for schema in schemas {
            let number = golang_migrate_number(schema, GOLANG_MIGRATE_TABLE, database);
            names.insert(number, "golang-migrate".to_owned());
            for table in FLYWAY_TABLES {
                names.insert(flyway_number(schema, table), "flyway".to_owned());
            }
        }
        let configured = configured.iter();
        let configured = configured.map(|entry| (entry.key, entry.name.clone()));
        names.extend(configured);
        Self(names)
    }

    /// These names, and others for numbers that have none.
    pub fn with(&self, others: &HashMap<AdvisoryKey, String>) -> Self {
        let mut names = others.clone();
        let own = self.0.iter().map(|(key, name)| (*key, name.clone()));
        names.extend(own);
        Self(names)
    }

    /// The name of a number.
    pub fn get(&self, key: AdvisoryKey) -> Option<&str> {
        self.0.get(&key).map(String::as_str)
    }
}

/// `GenerateAdvisoryLockId` of golang-migrate (`database/util.go`), as its drivers for PostgreSQL
/// call it.
fn golang_migrate_number(schema: &str, table: &str, database: &str) -> AdvisoryKey {
    let joined = [schema, table, database].join("\0");
    let number = crc32(joined.as_bytes()).wrapping_mul(GOLANG_MIGRATE_SALT);
    AdvisoryKey::Number(i64::from(number))
}

fn flyway_number(schema: &str, table: &str) -> AdvisoryKey {
    let quoted = format!("\"{schema}\".\"{table}\"");
    AdvisoryKey::Number(FLYWAY_MAGIC + i64::from(java_hash(&quoted)))
}

/// `String.hashCode` of Java.
fn java_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0_i32, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(i32::from(unit))
    })
}

/// CRC-32 of IEEE 802.3. Bit by bit: it is called for a few short names per connection.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            let mask = (crc & 1).wrapping_neg();
            crc = (crc >> 1) ^ (0xedb8_8320 & mask);
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(number: i64) -> Option<String> {
        let names = AdvisoryNames::new(&[], "shop", ["public", "audit"]);
        names.get(AdvisoryKey::Number(number)).map(str::to_owned)
    }

    #[test]
    fn numbers_of_libraries_have_names() {
        // Computed by the formulas of the libraries with the `zlib` of Python.
        for (number, name) in [
            (5_939_944_341_529_942_170, "rails-migrations"),
            (2_969_972_169_318_647_292, "sqlx-migrate"),
            (3_689_236_698, "golang-migrate"),
            (77_433_833_903_597, "flyway"),
            (72_707_369, "prisma-migrate"),
        ] {
            assert_eq!(name_of(number).as_deref(), Some(name), "{number}");
        }
        assert_eq!(name_of(4711), None);
    }

    #[test]
    fn the_hashes_are_those_of_java_and_zlib() {
        assert_eq!(FLYWAY_MAGIC, 77_431_708_279_161);
        assert_eq!(java_hash("hello"), 99_162_322);
        assert_eq!(java_hash("polygenelubricants"), i32::MIN);
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn the_configuration_comes_before_the_libraries() {
        let key = AdvisoryKey::Number(72_707_369);
        let name = "mine".to_owned();
        let names = AdvisoryNames::new(&[AdvisoryName { key, name }], "shop", []);
        assert_eq!(names.get(key), Some("mine"));
        assert_eq!(names.get(AdvisoryKey::Pair(1, 2)), None);
    }
}
