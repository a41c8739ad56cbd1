//! A load balancer in front of several consoles: each connection goes to the next of them that is there.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

use super::console::Person;

/// It ends with the test.
pub struct Balancer {
    address: SocketAddr,
    _serving: AbortOnDropHandle<()>,
}

impl Balancer {
    /// In front of these.
    pub async fn before(consoles: &[SocketAddr]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (consoles, next): (Arc<[_]>, _) = (consoles.into(), Arc::new(AtomicUsize::new(0)));
        let serving = tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let (consoles, next) = (Arc::clone(&consoles), Arc::clone(&next));
                tokio::spawn(async move { forward(client, &consoles, &next).await });
            }
        });
        Self {
            address,
            _serving: AbortOnDropHandle::new(serving),
        }
    }

    /// Somebody whose every request may reach another console than the one before.
    pub fn person(&self) -> Person {
        Person::always_anew(self.address)
    }
}

async fn forward(mut client: TcpStream, consoles: &[SocketAddr], next: &AtomicUsize) {
    for _ in consoles {
        let console = consoles[next.fetch_add(1, Ordering::Relaxed) % consoles.len()];
        if let Ok(mut there) = TcpStream::connect(console).await {
            let _until_one_hangs_up = copy_bidirectional(&mut client, &mut there).await;
            return;
        }
    }
}
