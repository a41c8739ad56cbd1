//! Redisson's: the hash of a lock, with or without a queue or a counter beside it, of a read-write lock, of a multi-lock, and the
//! permits of a semaphore.

use super::super::layouts::redisson;
use super::{Order, Shown, number, run};
use crate::domain::{LockKey, Timestamp};
use crate::server::formats::companions;
use crate::server::nodes::scripts::{FORCE_MULTI, FORCE_PERMIT, FORCE_READ_WRITE, FORCE_REDISSON};
use crate::server::sighting::Value;

impl Shown<'_> {
    pub(super) fn redisson(&self, now: Timestamp) -> Order {
        let name = &self.sighting.key;
        let counter = companions::beside(companions::TOKEN, name);
        let fence = match self.sighting.companion(&counter).map(|found| &found.value) {
            Some(Value::Text(fence)) => [counter.as_bytes().to_vec(), fence.clone()],
            Some(_) | None => [Vec::new(), Vec::new()],
        };
        let told = [
            self.highest(),
            self.owner().to_vec(),
            self.holds(),
            number(now.millis()),
            redisson::queue(name),
            redisson::deadlines(name),
        ];
        let arguments = told.into_iter().chain(fence);
        run(&FORCE_REDISSON, [self.key()], arguments).waking(redisson::channels(name))
    }

    pub(super) fn read_write(&self) -> Order {
        let name = &self.sighting.key;
        let leases = companions::beside(b"", name);
        let told = [
            self.highest(),
            self.owner().to_vec(),
            self.holds(),
            leases.as_bytes().to_vec(),
        ];
        let channels = redisson::channels_of("redisson_rwlock", name);
        run(&FORCE_READ_WRITE, [self.key()], told).waking(channels)
    }

    /// The owner's bytes are the value's field, a colon, and who has it.
    pub(super) fn multi(&self, fields: &[(Vec<u8>, Vec<u8>)]) -> Option<Order> {
        let ends = [self.owner(), b":expire_time"].concat();
        let (_, ends) = fields.iter().find(|(field, _)| *field == ends)?;
        let (value, who) = (self.owner().get(..22)?, self.owner().get(23..)?);
        let holds = self.holds();
        let told = [b"", who, value, &holds, ends].map(<[u8]>::to_vec);
        let channels = redisson::channels(&self.sighting.key);
        Some(run(&FORCE_MULTI, [self.key()], told).waking(channels))
    }

    pub(super) fn permit(&self) -> Option<Order> {
        let name = LockKey::new(companions::permits(self.key())?);
        let told = [Vec::new(), self.owner().to_vec()];
        let channels = redisson::channels_of("redisson_sc", &name);
        let keys = [self.key(), name.as_bytes()];
        Some(run(&FORCE_PERMIT, keys, told).waking(channels))
    }
}
