internal import CALSA
internal import Glibc

/// ALSA's configuration as its files say it now, apart from the copy that opening devices uses. One thread.
final class ALSAConfiguration {
    private var top: OpaquePointer?
    private var update: OpaquePointer?

    init() {
        calsa_be_quiet()
        _ = hasChanged
    }

    deinit {
        if let update { snd_config_update_free(update) }
        if let top { snd_config_delete(top) }
    }

    /// Whether a file has changed since the last question; looks at their dates, and reads them again when they moved.
    var hasChanged: Bool { snd_config_update_r(&top, &update, nil) > 0 }

    /// What the name of a playback device stands for, all aliases and functions worked out; nil for a name that is not
    /// defined.
    func definition(of device: String) -> String? {
        guard let top else { return nil }
        var found: OpaquePointer?
        guard snd_config_search_definition(top, "pcm", device, &found) >= 0, let found else { return nil }
        defer { snd_config_delete(found) }
        var output: OpaquePointer?
        guard snd_output_buffer_open(&output) >= 0, let output else { return nil }
        defer { snd_output_close(output) }
        guard snd_config_save(found, output) >= 0 else { return nil }
        var text: UnsafeMutablePointer<CChar>?
        let count = snd_output_buffer_string(output, &text)
        guard let text else { return nil }
        return String(decoding: UnsafeRawBufferPointer(start: text, count: Int(count)), as: UTF8.self)
    }
}
