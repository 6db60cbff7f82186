internal import CFFmpeg
internal import MediaCore

extension PlaneLayout {
    /// Converts libavutil's description of a pixel format.
    ///
    /// Returns nil for palettes, packed 4:2:2, bit streams, floats and big-endian formats: their components are not
    /// whole bytes side by side in one order.
    init?(_ format: AVPixelFormat) {
        let foreign =
            AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_HWACCEL
            | AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_FLOAT
        guard let description = av_pix_fmt_desc_get(format)?.pointee, description.flags & UInt64(foreign) == 0,
            format != AV_PIX_FMT_XYZ12LE
        else { return nil }
        let count = Int(description.nb_components)
        let all = description.comp
        let components = [all.0, all.1, all.2, all.3].prefix(count)
        guard let first = components.first, (8...16).contains(first.depth),
            components.allSatisfy({ $0.depth == first.depth && $0.shift == first.shift })
        else { return nil }
        let bytes: Int32 = first.depth > 8 ? 2 : 1
        let isRGB = description.flags & UInt64(AV_PIX_FMT_FLAG_RGB) != 0
        let hasAlpha = description.flags & UInt64(AV_PIX_FMT_FLAG_ALPHA) != 0
        var planes: [Plane] = []
        for number in components.map(\.plane).max().map({ 0...$0 }) ?? 0...0 {
            let inside = components.indices.filter { components[$0].plane == number }
            // Alpha is not displayed.
            if hasAlpha, inside == [count - 1] { continue }
            guard let step = inside.first.map({ components[$0].step }), step % bytes == 0,
                (1...4).contains(step / bytes), inside.allSatisfy({ components[$0].step == step })
            else { return nil }
            var meanings = [Int8](repeating: -1, count: Int(step / bytes))
            for component in inside where !(hasAlpha && component == count - 1) {
                let (place, rest) = components[component].offset.quotientAndRemainder(dividingBy: bytes)
                guard rest == 0, meanings.indices.contains(Int(place)) else { return nil }
                meanings[Int(place)] = Int8(component)
            }
            let isColor = !isRGB && !inside.contains(0)
            planes.append(
                Plane(
                    meanings, halvedX: isColor ? Int(description.log2_chroma_w) : 0,
                    halvedY: isColor ? Int(description.log2_chroma_h) : 0))
        }
        self.init(
            planes: planes, sampleBits: Int(bytes) * 8, depth: Int(first.depth), shift: Int(first.shift), isRGB: isRGB)
    }
}
