/// Appends one flat JSON object (RFC 8259) to a byte buffer, without nesting. Does not allocate once the buffer is
/// large enough.
package struct JSONObjectWriter {
    private var bytes: [UInt8]
    private var isFirst = true

    /// Starts an object at the end of `bytes`.
    package init(bytes: consuming [UInt8]) {
        self.bytes = bytes
        self.bytes.append(UInt8(ascii: "{"))
    }

    /// Returns the buffer with the finished object and a newline.
    package consuming func finish() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }

    private mutating func key(_ name: StaticString) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
        bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }

    /// Adds a string that needs no escaping.
    package mutating func add(_ name: StaticString, _ value: StaticString) {
        key(name)
        bytes.append(UInt8(ascii: "\""))
        value.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Adds an untrusted string, escaped and truncated so that it takes at most 1000 bytes.
    package mutating func add(_ name: StaticString, text: String) {
        key(name)
        JSONText.append(text, to: &bytes, limit: 1000)
    }

    package mutating func add(_ name: StaticString, _ value: Int) {
        key(name)
        digits(value.magnitude, negative: value < 0)
    }

    /// Adds nanoseconds of the host's monotonic clock.
    package mutating func add(_ name: StaticString, _ instant: HostInstant) {
        key(name)
        digits(UInt(instant.nanoseconds.magnitude), negative: instant.nanoseconds < 0)
    }

    /// Adds a media time in seconds.
    package mutating func add(_ name: StaticString, _ time: MediaTime) {
        key(name)
        billionths(time.nanoseconds)
    }

    /// Adds a duration in seconds.
    package mutating func add(_ name: StaticString, _ duration: Duration) {
        key(name)
        billionths(duration.wholeNanoseconds)
    }

    /// Adds a number with up to nine decimals; null for NaN, infinity and magnitudes from 9e9.
    package mutating func add(_ name: StaticString, _ value: Double) {
        key(name)
        guard value.isFinite, value.magnitude < 9e9 else {
            bytes.append(contentsOf: "null".utf8)
            return
        }
        billionths(Int64((value * 1e9).rounded()))
    }

    package mutating func add(_ name: StaticString, _ value: Bool) {
        key(name)
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    private mutating func digits(_ value: UInt, negative: Bool, atLeast width: Int = 1) {
        if negative { bytes.append(UInt8(ascii: "-")) }
        var scale: UInt = 1
        var width = width - 1
        while width > 0 || value / scale >= 10 {
            scale *= 10
            width -= 1
        }
        var rest = value
        while scale > 0 {
            bytes.append(UInt8(ascii: "0") + UInt8(rest / scale))
            rest %= scale
            scale /= 10
        }
    }

    private mutating func billionths(_ value: Int64) {
        let magnitude = UInt(value.magnitude)
        digits(magnitude / 1_000_000_000, negative: value < 0)
        var fraction = magnitude % 1_000_000_000
        guard fraction != 0 else { return }
        var width = 9
        while fraction % 10 == 0 {
            fraction /= 10
            width -= 1
        }
        bytes.append(UInt8(ascii: "."))
        digits(fraction, negative: false, atLeast: width)
    }
}
