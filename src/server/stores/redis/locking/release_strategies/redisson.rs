//! Strategies for Redisson: the hash of a lock (with or without a wait queue and a fencing
//! counter), of a read-write lock and of a multi-lock, and the permits of a semaphore.

use super::super::layouts::redisson;
use super::{MatchedHold, ReleaseCommand, decimal, script_command};
use crate::domain::{LockKey, Timestamp};
use crate::server::stores::redis::formats::companions;
use crate::server::stores::redis::key_state::RedisValue;
use crate::server::stores::redis::nodes::scripts::{
    FORCE_MULTI, FORCE_PERMIT, FORCE_READ_WRITE, FORCE_REDISSON,
};

impl MatchedHold<'_> {
    pub(super) fn redisson_command(&self, now: Timestamp) -> ReleaseCommand {
        let name = &self.key_state.key;
        let counter = companions::companion_key(companions::TOKEN_PREFIX, name);
        // The counter of an `RFencedLock` changes with every acquire, so it identifies the hold.
        let fence = match self.key_state.companion(&counter).map(|state| &state.value) {
            Some(RedisValue::Text(fence)) => [counter.as_bytes().to_vec(), fence.clone()],
            Some(_) | None => [Vec::new(), Vec::new()],
        };
        let arguments = [
            self.max_pttl_argument(),
            self.owner_bytes().to_vec(),
            self.hold_count_argument(),
            decimal(now.millis()),
            redisson::queue_key(name),
            redisson::deadlines_key(name),
        ];
        let arguments = arguments.into_iter().chain(fence);
        script_command(&FORCE_REDISSON, [self.key()], arguments)
            .with_wakeup(redisson::unlock_channels(name))
    }

    pub(super) fn read_write_command(&self) -> ReleaseCommand {
        let name = &self.key_state.key;
        let leases = companions::companion_key(b"", name);
        let arguments = [
            self.max_pttl_argument(),
            self.owner_bytes().to_vec(),
            self.hold_count_argument(),
            leases.as_bytes().to_vec(),
        ];
        let channels = redisson::channels_with_prefix("redisson_rwlock", name);
        script_command(&FORCE_READ_WRITE, [self.key()], arguments).with_wakeup(channels)
    }

    /// The owner's bytes are the field of the value, a colon, and the owner.
    pub(super) fn multi_lock_command(
        &self,
        fields: &[(Vec<u8>, Vec<u8>)],
    ) -> Option<ReleaseCommand> {
        let expiry_field = [self.owner_bytes(), b":expire_time"].concat();
        let (_, expiry) = fields.iter().find(|(field, _)| *field == expiry_field)?;
        let (value, thread) = (self.owner_bytes().get(..22)?, self.owner_bytes().get(23..)?);
        let holds = self.hold_count_argument();
        let arguments = [b"", thread, value, &holds, expiry].map(<[u8]>::to_vec);
        let channels = redisson::unlock_channels(&self.key_state.key);
        Some(script_command(&FORCE_MULTI, [self.key()], arguments).with_wakeup(channels))
    }

    pub(super) fn permit_command(&self) -> Option<ReleaseCommand> {
        let name = LockKey::new(companions::permit_semaphore(self.key())?);
        let arguments = [Vec::new(), self.owner_bytes().to_vec()];
        let channels = redisson::channels_with_prefix("redisson_sc", &name);
        let keys = [self.key(), name.as_bytes()];
        Some(script_command(&FORCE_PERMIT, keys, arguments).with_wakeup(channels))
    }
}
