//! A local server that answers as it is told, however badly.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

/// What one request is answered with.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Status 200 and a chat completion with this text.
    Says(String),
    /// Status 200 and an embedding for each text: the first is its length, the second its first byte. The last text comes
    /// first.
    Embeds,
    /// This response, byte for byte.
    Raw(Vec<u8>),
    /// Nothing for this long, then a chat completion.
    Late(Duration),
    /// The head of a response, then a byte of its body now and then.
    Drips,
}

impl Reply {
    /// A response with a status, more header lines and a body.
    pub fn status(status: &str, headers: &str, body: &str) -> Self {
        let length = body.len();
        Self::Raw(
            format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}").into(),
        )
    }
}

/// The server; it stops when it is dropped.
pub struct Stub {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Stub {
    /// Answers one request after another, the last reply for ever.
    pub fn new(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (requests, stopped) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (seen, stop) = (Arc::clone(&requests), Arc::clone(&stopped));
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(mut stream) = stream else { continue };
                let Some(request) = read(&mut stream) else { continue };
                let number = {
                    let mut seen = seen.lock().expect("no panic before");
                    seen.push(request.clone());
                    seen.len()
                };
                let Some(reply) = replies.get(number.min(replies.len()).saturating_sub(1)).cloned() else { continue };
                let stop = Arc::clone(&stop);
                // A client that went away is what some tests want.
                thread::spawn(move || answer(&mut stream, &request, &reply, &stop));
            }
        });
        Self { address, requests, stopped, thread: Some(thread) }
    }

    /// The base URL.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The requests so far, head and body.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("no panic before").clone()
    }

    /// The bodies of the requests so far.
    pub fn bodies(&self) -> Vec<Value> {
        self.requests().iter().map(|request| body(request)).collect()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Wakes the thread up.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn read(stream: &mut TcpStream) -> Option<String> {
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

fn answer(stream: &mut TcpStream, request: &str, reply: &Reply, stop: &AtomicBool) -> std::io::Result<()> {
    let says = |text: &str| {
        let message = json!({ "role": "assistant", "content": text });
        let body = json!({ "id": "1", "object": "chat.completion", "choices": [{ "index": 0, "message": message }] });
        Reply::status("200 OK", "Content-Type: application/json\r\n", &body.to_string())
    };
    match reply {
        Reply::Raw(bytes) => stream.write_all(bytes),
        Reply::Says(text) => answer(stream, request, &says(text), stop),
        Reply::Embeds => answer(stream, request, &embeds(request), stop),
        Reply::Late(pause) => {
            thread::sleep(*pause);
            answer(stream, request, &says("{\"claims\": []}"), stop)
        }
        Reply::Drips => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")?;
            while !stop.load(Ordering::SeqCst) {
                stream.write_all(b" ")?;
                thread::sleep(Duration::from_millis(50));
            }
            Ok(())
        }
    }
}

/// The body of a request.
fn body(request: &str) -> Value {
    let (_, body) = request.split_once("\r\n\r\n").expect("a head and a body");
    serde_json::from_str(body).expect("JSON")
}

fn embeds(request: &str) -> Reply {
    let texts: Vec<String> = serde_json::from_value(body(request)["input"].clone()).expect("a list of texts");
    let embedding = |text: &str| json!([text.len(), text.bytes().next().unwrap_or(0)]);
    let item = |(index, text): (usize, &String)| json!({ "object": "embedding", "index": index, "embedding": embedding(text) });
    let data: Vec<Value> = texts.iter().enumerate().map(item).rev().collect();
    Reply::status("200 OK", "", &json!({ "object": "list", "data": data, "model": "m" }).to_string())
}
