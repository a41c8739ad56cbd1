//! What goes wrong: nodes that end and come back, clocks that are set, programs that die.

use lockkeeper::domain::quorum;

use super::assumptions::Broken;
use super::checker::ms;
use super::counts::Seen;
use super::network::{Ends, Server};
use super::node::Keys;
use super::schedule::{Keeps, Mischief};
use super::world::{Event, World, letter};

impl World {
    /// A node is back.
    pub fn node_up(&mut self, node: usize) {
        let server = &mut self.servers[node];
        server.is_up = true;
        server.started = server.clock.wall_us(self.now);
        if !self.plan.keeps_every_write[node] {
            self.servers[node].forgot = Some(self.now);
        }
        self.note(|_| format!("node {} is back", letter(node)));
        for client in 0..self.clients.len() {
            let delay = self.dice.between(100, 20_000);
            self.after(delay, Event::LineOpen { client, node });
        }
    }

    /// What was planned to go wrong does.
    pub fn mischief(&mut self, mischief: Mischief) {
        self.note(|_| format!("{mischief:?}"));
        match mischief {
            Mischief::Crash {
                node,
                down_for,
                keeps,
            } => self.crash(node, down_for, keeps),
            Mischief::Save { node } => self.servers[node].saved = self.servers[node].keys.clone(),
            Mischief::Step { node, by } => {
                self.counts.saw(Seen::ClockStep);
                self.servers[node].clock.off += by;
            }
            Mischief::SetWall { client, by } => {
                self.counts.saw(Seen::WallClockSet);
                self.clients[client].clock.off += by;
            }
            Mischief::Cut {
                client,
                node,
                lasts,
            } => {
                self.counts.saw(Seen::Cut);
                self.clients[client].links[node].cut_until = self.now + lasts;
            }
            Mischief::Kill { client, down_for } => {
                if self.kill(client) {
                    self.counts.saw(Seen::ClientCrash);
                    self.after(down_for, Event::Reborn { client });
                }
            }
        }
    }

    fn crash(&mut self, node: usize, down_for: u64, keeps: Keeps) {
        if !self.servers[node].is_up {
            return;
        }
        let server = &mut self.servers[node];
        server.is_up = false;
        server.life += 1;
        let life = server.life - 1;
        match keeps {
            Keeps::Everything => self.counts.saw(Seen::CrashKept),
            Keeps::WhatWasSaved => {
                server.keys = server.saved.clone();
                self.counts.saw(Seen::CrashRolledBack);
            }
            Keeps::Nothing => {
                server.keys = Keys::default();
                server.saved = Keys::default();
                self.counts.saw(Seen::CrashForgot);
            }
        }
        self.after(down_for, Event::NodeUp { node });
        for client in 0..self.clients.len() {
            let delay = self.dice.between(0, 20_000);
            self.after(delay, Event::LineLost(Ends { client, node, life }));
        }
    }

    /// Another program starts where one ended. It has not seen the nodes before: so it must not start when it could not tell
    /// a node that forgot what somebody relies on, or that is down and will have forgotten it, from one of a new group.
    pub fn reborn(&mut self, client: usize) {
        let longest =
            u64::try_from(self.plan.locking.longest_lease.as_micros()).unwrap() * 101 / 100;
        let now = self.now;
        let keeps = &self.plan.keeps_every_write;
        let forgets = |(node, server): (usize, &Server)| {
            let is_down = !server.is_up && !keeps[node];
            is_down || server.forgot.is_some_and(|at| at + longest > now)
        };
        let servers = || self.servers.iter().enumerate();
        let is_old = |server: &Server| server.is_up && server.life == 0;
        let old = servers().filter(|(_, server)| is_old(server)).count();
        let remember = servers().filter(|(node, server)| is_old(server) || keeps[*node]);
        let can_tell = old > 0 && remember.count() >= quorum::majority(self.servers.len());
        let is_too_early = !can_tell && servers().any(forgets);
        if is_too_early && !self.plan.breaks(Broken::Newcomers) {
            return self.after(longest / 4, Event::Reborn { client });
        }
        if can_tell && servers().any(forgets) {
            self.counts.saw(Seen::Newcomer);
        }
        self.note(|_| format!("client {client} starts again, {}", ms(now)));
        self.connect(client);
        self.start(client);
    }
}
