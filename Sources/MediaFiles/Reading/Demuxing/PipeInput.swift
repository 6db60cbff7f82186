internal import CFFmpeg
internal import Glibc
internal import MediaCore

/// Reads from a pipe, a FIFO or standard input for libavformat.
///
/// libavformat's file protocol blocks in the kernel until data are written and cannot be interrupted. This class blocks
/// in `poll(2)` with a timeout of 100 ms and checks the guard in between.
///
/// `@unchecked Sendable`: only the contents of libavformat's buffer change after `init`, and one thread at a time
/// reads.
final class PipeInput: @unchecked Sendable {
    private let descriptor: Int32
    private let ownsDescriptor: Bool
    private let waiting: InterruptCallback
    /// Owned; freed with its buffer, which libavformat may have replaced.
    private(set) var context: UnsafeMutablePointer<AVIOContext>?

    private static let bufferSize: Int32 = 64 * 1024
    /// The interval between two checks of the guard, in milliseconds.
    private static let timeout: Int32 = 100

    init(_ address: InputAddress, waiting: InterruptCallback) throws(MediaError) {
        self.waiting = waiting
        if address.url == InputAddress.standardInput {
            (descriptor, ownsDescriptor) = (0, false)
        } else {
            // Without O_NONBLOCK, opening a FIFO blocks uninterruptibly until there is a writer (fifo(7)).
            descriptor = open(address.path.systemPath, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            ownsDescriptor = true
            guard descriptor >= 0 else {
                if SystemCause.isExhaustion(errno) {
                    throw MediaError(.exhausted, "cannot open \"\(address.text)\": \(SystemCause.text(errno))")
                }
                throw MediaError(.cannotOpen, "cannot read from \"\(address.text)\"; check that it is a pipe or a file")
            }
        }
        guard let buffer = av_malloc(Int(Self.bufferSize)) else {
            throw MediaError(.exhausted, "cannot read \"\(address.text)\": \(SystemCause.text(ENOMEM))")
        }
        context = avio_alloc_context(
            buffer.assumingMemoryBound(to: UInt8.self), Self.bufferSize, 0,
            Unmanaged.passUnretained(self).toOpaque(),
            { @Sendable opaque, bytes, count in
                guard let opaque, let bytes else { return cff_error_exit }
                return Unmanaged<PipeInput>.fromOpaque(opaque).takeUnretainedValue().read(into: bytes, count)
            }, nil, nil)
        context?.pointee.seekable = 0
    }

    deinit {
        if let context {
            av_free(context.pointee.buffer)
            avio_context_free(&self.context)
        }
        if ownsDescriptor, descriptor >= 0 { close(descriptor) }
    }

    private func read(into bytes: UnsafeMutablePointer<UInt8>, _ count: Int32) -> Int32 {
        while true {
            if waiting.isCancelled || waiting.isPastDeadline { return cff_error_exit }
            var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            // A FIFO without a writer so far reports nothing; POLLHUP requires that a writer has closed it.
            let events = poll(&wanted, 1, Self.timeout)
            if events == 0 { continue }
            if events < 0 {
                if errno == EINTR { continue }
                return cff_error_from_errno(errno)
            }
            let got = Glibc.read(descriptor, bytes, Int(count))
            if got > 0 { return Int32(got) }
            if got == 0 { return cff_error_eof }
            if errno != EINTR, errno != EAGAIN { return cff_error_from_errno(errno) }
        }
    }
}
