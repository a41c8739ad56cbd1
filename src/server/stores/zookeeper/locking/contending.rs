//! The node of a contender, and its place in the queue.

use super::Failure;
use crate::server::stores::zookeeper::client::{ClientError, ErrorCode, Session, Stat};
use crate::server::stores::zookeeper::contender::{Contender, Family};
use crate::server::stores::zookeeper::key_reader::join;

/// A node that was created for an acquire.
pub(super) struct OwnNode {
    pub(super) path: String,
    pub(super) name: String,
    pub(super) stat: Stat,
}

/// Creates the node of a contender, and the directories above it.
pub(super) async fn create_node(
    session: &Session,
    directory: &str,
    prefix: &str,
    data: &[u8],
) -> Result<OwnNode, ClientError> {
    let path = join(directory, prefix);
    let created = match session.create_ephemeral_sequential(&path, data).await {
        Err(ClientError::Server(ErrorCode::NoNode)) => {
            create_directories(session, directory).await?;
            session.create_ephemeral_sequential(&path, data).await
        }
        other => other,
    };
    match created {
        Ok((path, stat)) => Ok(own_node(path, stat)),
        // It may have been created, so it is searched for by its random name.
        Err(ClientError::ConnectionLost | ClientError::Timeout(_)) => {
            let (names, _) = session.children(directory).await?;
            match names.into_iter().find(|name| name.starts_with(prefix)) {
                Some(name) => {
                    let path = join(directory, &name);
                    let stat = session.exists(&path, false).await?;
                    let stat = stat.ok_or(ClientError::SessionExpired)?;
                    Ok(own_node(path, stat))
                }
                None => {
                    let (path, stat) = session.create_ephemeral_sequential(&path, data).await?;
                    Ok(own_node(path, stat))
                }
            }
        }
        Err(error) => Err(error),
    }
}

fn own_node(path: String, stat: Stat) -> OwnNode {
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    OwnNode { path, name, stat }
}

/// Creates a directory and those above it as container nodes, as Curator does.
async fn create_directories(session: &Session, directory: &str) -> Result<(), ClientError> {
    let ends = directory.match_indices('/').map(|(at, _)| at).skip(1);
    for end in ends.chain([directory.len()]) {
        session.create_container(&directory[..end]).await?;
    }
    Ok(())
}

/// The contender directly before this one; `None` for the first one. Fails if the node is gone.
pub(super) fn predecessor(names: &[String], own: &str) -> Result<Option<String>, Failure> {
    let contenders = names.iter().filter_map(|name| Contender::parse(name));
    let mut contenders: Vec<Contender> = contenders
        .filter(|contender| contender.family == Family::CuratorLock)
        .collect();
    contenders.sort_by_key(|contender| contender.sequence);
    let position = contenders
        .iter()
        .position(|contender| contender.name == own);
    let position = position.ok_or(Failure::Lost)?;
    Ok(position
        .checked_sub(1)
        .map(|before| contenders[before].name.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contender_waits_for_the_one_before_it() {
        let name = |n: u32| format!("_c_9facbb75-2934-4067-8a15-201f46511f1{n}-lock-000000000{n}");
        let names = [name(3), name(1), name(2), "lock-0000000000".to_owned()];
        for (own, expected) in [
            (name(1), None),
            (name(2), Some(name(1))),
            (name(3), Some(name(2))),
        ] {
            assert_eq!(predecessor(&names, &own).ok(), Some(expected), "{own}");
        }
        assert!(predecessor(&names, &name(7)).is_err());
    }
}
