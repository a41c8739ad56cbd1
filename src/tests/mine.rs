//! Locks acquired on the console's pages: what the pages show of them, and what remains after a
//! release.

use lockkeeper::domain::{Format, ReleaseResult};
use lockkeeper::server::access::Principal;
use lockkeeper::server::operations::AcquireRequest;
use lockkeeper::server::stores::redis::formats::fingerprint;
use redis::AsyncCommands as _;

use crate::auto_renewal::{KEY, acquire_request, connected_group, lock_id, start_operations};
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

#[tokio::test]
async fn own_locks_show_the_fingerprint_of_the_value_on_the_nodes() {
    let nodes = RedisNodes::start(1).await;
    let group = connected_group(&nodes).await;
    let (operations, _lost_locks) = start_operations(&group);
    let user = Principal::local();
    for format in [Format::Plain, Format::LegacyTimestamp] {
        let request = acquire_request(format, 600, true);
        operations
            .acquire_console_lock(&user, lock_id(), &request)
            .await
            .unwrap();
        wait_until(
            "the lock is renewed and listed with its current fingerprint",
            async || {
                let [own_lock] = &operations.console_locks(&user)[..] else {
                    panic!("expected one lock")
                };
                assert!(
                    own_lock.auto_renew && own_lock.lost_reason.is_none(),
                    "{own_lock:?}"
                );
                let value = nodes.get(0, KEY.as_bytes()).await.unwrap();
                own_lock.extensions > 6 && own_lock.fingerprint == fingerprint(&value)
            },
        )
        .await;
        let extended = operations
            .extend_console_lock(&user, &lock_id(), 60_000)
            .await
            .unwrap();
        let value = nodes.get(0, KEY.as_bytes()).await.unwrap();
        assert_eq!(extended.fingerprint, fingerprint(&value));
        operations
            .release_console_lock(&user, &lock_id())
            .await
            .unwrap();
        assert_eq!(operations.console_locks(&user), []);
    }
}

#[tokio::test]
async fn a_reentered_lock_is_listed_until_its_last_release() {
    let nodes = RedisNodes::start(1).await;
    let group = connected_group(&nodes).await;
    let (operations, _lost_locks) = start_operations(&group);
    let user = Principal::local();
    for auto_renew in [false, true] {
        let first = acquire_request(Format::Redisson, 60_000, auto_renew);
        let own_lock = operations
            .acquire_console_lock(&user, lock_id(), &first)
            .await
            .unwrap();
        let again = AcquireRequest {
            token: Some(operations.reveal_token(&user, &lock_id()).await.unwrap()),
            ..first
        };
        let reentered = operations.acquire(&user, &lock_id(), &again).await.unwrap();
        assert_eq!(reentered.fingerprint, own_lock.fingerprint);

        let released = operations
            .release_console_lock(&user, &lock_id())
            .await
            .unwrap();
        assert_eq!(released.hold_count, Some(1));
        let [remaining] = &operations.console_locks(&user)[..] else {
            panic!("expected one remaining lock")
        };
        assert_eq!(
            (remaining.auto_renew, &remaining.lost_reason),
            (auto_renew, &None)
        );
        let released = operations
            .release_console_lock(&user, &lock_id())
            .await
            .unwrap();
        assert!(matches!(
            released,
            ReleaseResult {
                hold_count: None,
                ..
            }
        ));
        assert_eq!(operations.console_locks(&user), []);
        let mut client = nodes.0[0].client().await;
        assert!(!client.exists::<_, bool>(KEY).await.unwrap());
    }
}
