import FuzzSupport
import MediaCore

@testable import Storage

private let folder = FuzzFolder("state")

/// Arbitrary contents of the state folder. The first byte selects the file, the second whether its last line has a
/// valid checksum.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzState(_ start: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    var input = FuzzInput(start, size)
    let readers = KeptFile.all
    let reader = readers[Int(input.byte()) % readers.count]
    let manner = input.byte()
    let body = input.remainder()
    let bytes = manner & 1 == 0 ? body : whole(body, kind: reader.kind, version: 1 + Int(manner >> 6))
    checkRecord(bytes, kind: reader.kind)

    folder.empty()
    folder.write(reader.file, bytes)
    let state = StateFolder(path: folder.path)
    let first = reader.read(state)
    let isNewer = newer(bytes, kind: reader.kind)
    if isNewer {
        precondition(!first.isUsed && first.note != nil, "a record of a newer Talkie is not read, and reported")
        reader.write(state)
        precondition(folder.read(reader.file) == bytes, "what a newer Talkie wrote is left alone")
        return 0
    }
    if folder.read(reader.file) == nil {
        precondition(first.note != nil, "a file that is set aside is reported")
        precondition(folder.read(reader.file + ".damaged") == bytes, "nothing is lost")
        precondition(reader.read(state).note == nil, "it is reported once")
    }
    reader.write(state)
    let second = reader.read(state)
    precondition(second.isUsed && second.note == nil, "what was written can be read")
    reader.write(state)
    precondition(reader.read(state) == second, "what was read and written is the same when it is read again")
    return 0
}

/// Adds the first line and the checksum line that a record needs.
private func whole(_ body: [UInt8], kind: String, version: Int) -> [UInt8] {
    var bytes = Array("talkie \(kind) \(version)\n".utf8) + body
    if !body.isEmpty, body.last != 0x0A { bytes.append(0x0A) }
    return bytes + Array("check \(StateRecord.check(bytes[...]))\n".utf8)
}

private func newer(_ bytes: [UInt8], kind: String) -> Bool {
    do throws(StateRecord.Failure) { _ = try StateRecord(kind: kind, version: 1, decoding: bytes) } catch {
        if case .newer = error { return true }
    }
    return false
}

/// Checks that a readable record is unchanged after encoding and decoding, up to the maximum size of a file.
private func checkRecord(_ bytes: [UInt8], kind: String) {
    guard let record = try? StateRecord(kind: kind, version: 1, decoding: bytes) else { return }
    let written = record.encoded()
    guard written.count <= StateFolder.fileLimit else { return }
    let again = try? StateRecord(kind: kind, version: 1, decoding: written)
    precondition(again?.values == record.values, "a record changed on its way through the codec")
    precondition(again?.encoded() == written)
}
