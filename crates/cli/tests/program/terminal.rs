//! A program on a pseudo-terminal: the keys that a person types, and the screen that a person sees.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

const WAIT_MAX: Duration = Duration::from_mins(1);

pub(crate) struct Terminal {
    process: Child,
    keyboard: File,
    screen: Arc<Mutex<Vec<u8>>>,
    /// How much of the screen was read already.
    seen: usize,
}

impl Terminal {
    pub(crate) fn start(mut command: Command, rows: u16, columns: u16) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(OFlags::NOCTTY.bits().cast_signed())
            .open(name.to_str().unwrap())
            .unwrap();
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&slave, size).unwrap();
        command.env("TERM", "xterm");
        command.stdin(slave.try_clone().unwrap());
        command.stdout(slave.try_clone().unwrap()).stderr(slave);
        let process = command.spawn().unwrap();
        // The command has the last handles of the other side.
        drop(command);
        let keyboard = File::from(master);
        let mut output = keyboard.try_clone().unwrap();
        let screen = Arc::new(Mutex::new(Vec::new()));
        let shown = Arc::clone(&screen);
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                shown.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Terminal {
            process,
            keyboard,
            screen,
            seen: 0,
        }
    }

    pub(crate) fn type_text(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    /// Waits until `text` appears after the output seen so far, and returns the output up to its
    /// end.
    #[track_caller]
    pub(crate) fn expect(&mut self, text: &str) -> String {
        let begin = Instant::now();
        loop {
            let screen = self.screen.lock().unwrap().clone();
            let new = &screen[self.seen..];
            let found = new
                .windows(text.len())
                .position(|part| part == text.as_bytes());
            if let Some(start) = found {
                let end = start + text.len();
                self.seen += end;
                return String::from_utf8_lossy(&new[..end]).into_owned();
            }
            let shown = String::from_utf8_lossy(new);
            assert!(
                begin.elapsed() < WAIT_MAX,
                "{text:?} does not appear in {shown:?}"
            );
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// What Ctrl-C does while no line is edited.
    pub(crate) fn interrupt(&self) {
        let pid = self.process.id().to_string();
        let status = Command::new("kill").args(["-INT", &pid]).status().unwrap();
        assert!(status.success());
    }

    #[track_caller]
    pub(crate) fn end(mut self) -> ExitStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(begin.elapsed() < WAIT_MAX, "the program does not end");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
