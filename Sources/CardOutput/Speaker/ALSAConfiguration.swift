internal import CALSA
internal import Glibc

/// A current copy of ALSA's configuration, separate from the cached copy that `snd_pcm_open` uses. Not thread-safe.
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

    /// Returns true if a configuration file has changed since the last call. Compares modification dates and rereads
    /// changed files.
    var hasChanged: Bool { snd_config_update_r(&top, &update, nil) > 0 }

    /// Returns the definition of a playback device with all aliases and functions expanded; nil if the name is not
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
