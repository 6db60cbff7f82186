internal import Glibc
internal import MediaCore

/// The two files of VobSub: an index with times, and a stream of bitmaps.
struct VobSubPair {
    var index: String
    var bitmaps: String

    /// Finds both files by the path of either; nil for other extensions, and for a `.sub` without an index.
    init?(either path: String) {
        guard path.utf8.count > 4 else { return nil }
        let (stem, ending) = (String(path.dropLast(4)), path.suffix(4))
        switch ending {
        case ".idx", ".IDX": self.init(index: path, bitmaps: Self.bitmapPath(ofIndex: path))
        case ".sub", ".SUB":
            // Without an index it is MicroDVD.
            let index = stem + (ending == ".sub" ? ".idx" : ".IDX")
            guard access(index.systemPath, F_OK) == 0 else { return nil }
            self.init(index: index, bitmaps: path)
        default: return nil
        }
    }

    /// Returns the path of the bitmaps that libavformat's demuxer derives from that of the index.
    static func bitmapPath(ofIndex path: String) -> String {
        String(path.dropLast(3)) + (path.hasSuffix("IDX") ? "SUB" : "sub")
    }

    private init(index: String, bitmaps: String) { (self.index, self.bitmaps) = (index, bitmaps) }
}
