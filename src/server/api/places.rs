//! Places that are taken and given back: in all, and for each client.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::limits::Client;

/// So many places, and of them so many for one client. A refusal takes none, not for a moment either.
pub struct Crowd {
    most: u32,
    most_of_one: u32,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    in_all: u32,
    by: HashMap<Client, u32>,
}

/// Why there is no place left.
#[derive(Debug)]
pub enum Full {
    /// All are taken.
    All,
    /// All that one client may have.
    ForClient,
}

impl Crowd {
    /// None is taken.
    pub fn new(most: u32, most_of_one: u32) -> Self {
        Self {
            most,
            most_of_one,
            taken: Mutex::default(),
        }
    }

    /// Takes one for this client, if there is one.
    pub fn enter(self: &Arc<Self>, client: Client) -> Result<Seat, Full> {
        let mut taken = self.taken();
        if taken.in_all >= self.most {
            return Err(Full::All);
        }
        let by_client = taken.by.entry(client).or_default();
        if *by_client >= self.most_of_one {
            return Err(Full::ForClient);
        }
        *by_client += 1;
        taken.in_all += 1;
        Ok(Seat {
            crowd: Arc::clone(self),
            client,
            before: taken.in_all - 1,
        })
    }

    /// How many are taken.
    pub fn count(&self) -> u32 {
        self.taken().in_all
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        // Nothing between two changes can panic.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client's place in a crowd, until it is dropped.
pub struct Seat {
    crowd: Arc<Crowd>,
    client: Client,
    before: u32,
}

impl Seat {
    /// How many places were taken when this one was.
    pub fn before(&self) -> u32 {
        self.before
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.crowd.taken();
        taken.in_all -= 1;
        if let Some(by_client) = taken.by.get_mut(&self.client) {
            *by_client -= 1;
            if *by_client == 0 {
                taken.by.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(text: &str) -> Client {
        Client::of(text.parse().unwrap())
    }

    #[test]
    fn places_are_given_back_and_a_refusal_takes_none() {
        let crowd = Arc::new(Crowd::new(3, 2));
        let (one, other) = (client("10.0.0.1"), client("10.0.0.2"));
        let seats = [crowd.enter(one).unwrap(), crowd.enter(one).unwrap()];
        for _ in 0..10 {
            assert!(matches!(crowd.enter(one), Err(Full::ForClient)));
        }
        let third = crowd.enter(other).unwrap();
        assert!(matches!(crowd.enter(other), Err(Full::All)));
        drop(third);
        assert!(crowd.enter(other).is_ok());
        drop(seats);
        assert!(crowd.enter(one).is_ok());
        let taken = crowd.taken();
        assert!(taken.by.is_empty() && taken.in_all == 0);
    }
}
