internal import Glibc
internal import Storage

/// A state file of one configuration: its name, and how it is read.
struct KioskStateFile: Sendable {
    /// Differs for each full path of a configuration.
    let name: String
    /// The name in earlier versions, which configurations of the same name in two folders shared.
    private let earlierName: String

    /// Creates the name from a prefix, one for each kind of file, and the path of the configuration.
    init(_ prefix: String, configuration: String) {
        let last = configuration.split(separator: "/").last.map(String.init) ?? ""
        let plain = last.prefix(60).map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") ? $0 : "_" }
        earlierName = "\(prefix)-" + String(plain)
        let resolved = realpath(configuration, nil)
        defer { free(resolved) }
        let path = resolved.map { String(cString: $0) } ?? configuration
        name = "\(earlierName)-\(StateRecord.check(Array(path.utf8)[...]))"
    }

    /// Returns the record; until it exists, that of an earlier version. Blocks on the disk.
    func read(in folder: StateFolder, kind: String, version: Int) throws(StateError) -> StateFolder.Reading {
        let reading = try folder.readRecord(name, kind: kind, version: version)
        guard case .absent = reading else { return reading }
        return try folder.readRecord(earlierName, kind: kind, version: version)
    }
}
