//! Locks acquired from the console's pages: what is shown of them, and what a release leaves.

use lockkeeper::domain::{Format, Released};
use lockkeeper::server::access::Actor;
use lockkeeper::server::formats::fingerprint;
use lockkeeper::server::operations::AcquireRequest;
use redis::AsyncCommands as _;

use crate::keeping::{KEY, group_of, id, operations, request};
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn ones_own_locks_show_the_owner_that_the_nodes_show() {
    let nodes = RedisNodes::start(1).await;
    let group = group_of(&nodes).await;
    let (operations, _ends) = operations(&group);
    let me = Actor::local();
    for format in [Format::Plain, Format::LegacyTimestamp] {
        let request = request(format, 600, true);
        operations.acquire_mine(&me, id(), &request).await.unwrap();
        eventually_is("it is renewed and known by its value", async || {
            let [mine] = &operations.mine(&me)[..] else {
                panic!("one lock is mine")
            };
            assert!(mine.auto_renew && mine.lost.is_none(), "{mine:?}");
            let value = nodes.get(0, KEY.as_bytes()).await.unwrap();
            mine.extensions > 6 && mine.fingerprint == fingerprint(&value)
        })
        .await;
        let extended = operations.extend_mine(&me, &id(), 60_000).await.unwrap();
        let value = nodes.get(0, KEY.as_bytes()).await.unwrap();
        assert_eq!(extended.fingerprint, fingerprint(&value));
        operations.release_mine(&me, &id()).await.unwrap();
        assert_eq!(operations.mine(&me), []);
    }
}

#[tokio::test]
async fn a_lock_that_was_entered_again_is_mine_until_its_last_release() {
    let nodes = RedisNodes::start(1).await;
    let group = group_of(&nodes).await;
    let (operations, _ends) = operations(&group);
    let me = Actor::local();
    for auto_renew in [false, true] {
        let first = request(Format::Redisson, 60_000, auto_renew);
        let mine = operations.acquire_mine(&me, id(), &first).await.unwrap();
        let again = AcquireRequest {
            token: Some(operations.take_token(&me, &id()).await.unwrap()),
            ..first
        };
        let entered = operations.acquire(&me, &id(), &again).await.unwrap();
        assert_eq!(entered.fingerprint, mine.fingerprint);

        let released = operations.release_mine(&me, &id()).await.unwrap();
        assert_eq!(released.holds, Some(1));
        let [still] = &operations.mine(&me)[..] else {
            panic!("it is mine still")
        };
        assert_eq!((still.auto_renew, &still.lost), (auto_renew, &None));
        let released = operations.release_mine(&me, &id()).await.unwrap();
        assert!(matches!(released, Released { holds: None, .. }));
        assert_eq!(operations.mine(&me), []);
        let mut client = nodes.0[0].client().await;
        assert!(!client.exists::<_, bool>(KEY).await.unwrap());
    }
}
