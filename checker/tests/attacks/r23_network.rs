//! R23: it tries every way to the network

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let limit = std::time::Duration::from_secs(1);
    for address in ["1.1.1.1:443", "127.0.0.1:22", "127.0.0.1:631"] {
        let address = address.parse().expect("an address");
        if std::net::TcpStream::connect_timeout(&address, limit).is_ok() {
            println!("reached {address}");
        }
    }
    if std::net::UdpSocket::bind("0.0.0.0:0").and_then(|it| it.send_to(b"x", "8.8.8.8:53")).is_ok() {
        println!("reached a name server");
    }
    // AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_ALG, AF_VSOCK.
    for family in [1, 2, 10, 16, 17, 38, 40] {
        // SAFETY: no memory is involved.
        if unsafe { syscall!(41, family, 2, 0) } >= 0 {
            println!("reached {family}");
        }
    }
    let context = session.context();
    let stream = context.new_stream()?;
    let mut course = session.allocate()?;
    course.region(|lengths, log| {
        for length in lengths {
            length.map(&stream)?;
            stream.synchronize()?;
            log.note()?;
        }
        Ok(())
    })
}
