internal import ArgumentParser
internal import MediaCore
internal import Storage
internal import TalkieApp

/// What `talkie play` was told, on the command line and before it by `talkie.conf` and `input.conf`.
///
/// A setting is the word that it would be on the command line, put ahead of those that were typed: what is typed counts. A mistake in
/// a file is told with its line, and costs nothing but that line.
struct PlayConfiguration {
    static let settingsFile = "talkie.conf"
    static let keysFile = "input.conf"
    /// Names that mean something on the command line only.
    private static let typedOnly: Set<String> = ["help", "h", "version", "config-dir", "no-config", "config"]
    /// Profiles that take each other in.
    private static let deepest = 8

    private let typed: [String]
    private var mistakes: [ConfigMistake] = []
    private var notes: [String] = []
    /// Settings in force, each with its word.
    private var words: [(line: Int, word: String)] = []

    /// - Parameters:
    ///   - command: what was typed, understood.
    ///   - typed: its words, `play` not among them.
    ///   - folder: where the files lie unless `--config-dir` says otherwise.
    /// - Throws: a usage error when there is no profile of a name that was typed, and what cannot be understood for what was typed.
    static func arguments(
        of command: PlayCommand, typed: [String], folder: ConfigFolder
    ) throws -> PlayArguments {
        guard !command.configuration.noConfig else { return command.arguments }
        let folder = command.configuration.configDir.map { ConfigFolder(path: $0) } ?? folder
        var configuration = PlayConfiguration(typed: typed)
        let text = configuration.readSettings(in: folder)
        for name in command.configuration.profiles where text[profile: name] == nil {
            throw ValidationError(noProfile(name, in: text))
        }
        configuration.take(text, profiles: command.configuration.profiles)
        var arguments = try configuration.understood(or: command).arguments
        arguments.keys = configuration.readKeys(in: folder)
        arguments.notes = ConfigMistake.told(configuration.mistakes) + configuration.notes
        return arguments
    }

    /// The profiles of `talkie.conf`, a line each.
    static func profileListing(_ command: PlayCommand, folder: ConfigFolder) -> String {
        let folder = command.configuration.configDir.map { ConfigFolder(path: $0) } ?? folder
        var configuration = PlayConfiguration(typed: [])
        let profiles = configuration.readSettings(in: folder).profiles
        guard !profiles.isEmpty else { return "There is no profile in \(folder.path)/\(settingsFile).\n" }
        return profiles.map { profile in
            let description = profile.description.isEmpty ? "" : "  " + profile.description
            return PrintableText.of(profile.name + description) + "\n"
        }.joined()
    }

    private init(typed: [String]) { self.typed = typed }

    // MARK: Reading

    private mutating func read(_ name: String, in folder: ConfigFolder) -> ConfigFolder.Content? {
        do throws(TalkieError) { return try folder.read(name) } catch {
            mistakes.append(ConfigMistake(name, line: 0, error.message + "; it is left out"))
            return nil
        }
    }

    private mutating func readSettings(in folder: ConfigFolder) -> ConfigText {
        guard let content = read(Self.settingsFile, in: folder) else { return ConfigText([], file: Self.settingsFile) }
        let text = ConfigText(content.bytes, file: Self.settingsFile)
        mistakes += text.mistakes
        let all = text.settings + text.profiles.flatMap(\.settings)
        if content.isReadByOthers, let secret = all.first(where: Self.holdsSecret) {
            notes.append(
                "\(Self.settingsFile) line \(secret.line) holds a password that others on this computer may read; type "
                    + "chmod 600 \(ShellWord.quoted("\(folder.path)/\(Self.settingsFile)"))")
        }
        return text
    }

    /// An address with a password in it, or an option that is one or may hold one.
    private static func holdsSecret(_ setting: ConfigText.Setting) -> Bool {
        guard let value = setting.value else { return false }
        return PrintableText.withoutCredentials(value) != value || setting.name.hasPrefix("http-header-fields")
            || (setting.name.contains("password") && !setting.name.hasSuffix("file"))
    }

    private mutating func readKeys(in folder: ConfigFolder) -> KeyMap {
        guard let content = read(Self.keysFile, in: folder) else { return KeyMap() }
        let input = InputConfiguration(content.bytes, file: Self.keysFile)
        mistakes += input.mistakes
        return input.keys
    }

    // MARK: Settings

    private mutating func take(_ text: ConfigText, profiles: [String]) {
        // Also those of profiles that nobody asked for: a mistake is found when it is written.
        var sound: [ConfigText.Setting: String] = [:]
        for setting in text.settings + text.profiles.flatMap(\.settings) where setting.name != "profile" {
            do throws(ValueError) { sound[setting] = try Self.word(for: setting) } catch {
                mistakes.append(ConfigMistake(Self.settingsFile, line: setting.line, error.description))
            }
        }
        add(text.settings, of: text, known: sound, inside: [])
        for name in profiles { add(text[profile: name]?.settings ?? [], of: text, known: sound, inside: [name]) }
    }

    private mutating func add(
        _ settings: [ConfigText.Setting], of text: ConfigText, known: [ConfigText.Setting: String],
        inside names: [String]
    ) {
        for setting in settings {
            guard setting.name == "profile" else {
                if let word = known[setting], words.count < ConfigText.mostSettings {
                    words.append((setting.line, word))
                }
                continue
            }
            for name in (setting.value ?? "").split(separator: ",").map(String.init) {
                let mistake: String? =
                    if names.contains(name) || names.count >= Self.deepest {
                        "the profile '\(name)' takes itself in"
                    } else {
                        text[profile: name] == nil ? Self.noProfile(name, in: text) : nil
                    }
                if let mistake {
                    mistakes.append(ConfigMistake(Self.settingsFile, line: setting.line, mistake))
                } else {
                    add(text[profile: name]?.settings ?? [], of: text, known: known, inside: names + [name])
                }
            }
        }
    }

    private static func noProfile(_ name: String, in text: ConfigText) -> String {
        let all = text.profiles.map { "'\($0.name)'" }
        return PrintableText.of(
            "there is no profile '\(name)' in \(settingsFile)"
                + (all.isEmpty ? "" : ", only \(all.prefix(10).joined(separator: ", "))"))
    }

    /// A setting as it would be typed.
    ///
    /// - Throws: when that would be a usage error; the sentence is the same.
    private static func word(for setting: ConfigText.Setting) throws(ValueError) -> String {
        if typedOnly.contains(setting.name) {
            throw ValueError("--\(setting.name) counts on the command line only")
        }
        let word = "--\(setting.name)" + (setting.value.map { "=\($0)" } ?? "")
        let words = CommandWords.understood(["play", word], commands: ["play"]).dropFirst()
        if let objection = FlagWords.objection(to: Array(words)) { throw ValueError(objection) }
        do { _ = try PlayCommand.parse(["film"] + FlagWords.settled(Array(words))) } catch {
            throw ValueError(CommandLineRunner.sentence(of: error))
        }
        return words[1]
    }

    /// Everything together. Settings that contradict what was typed, or those before them, are set aside.
    private mutating func understood(or command: PlayCommand) throws -> PlayCommand {
        // A list that is typed takes the place of one that is written.
        let typesSpeaker = typed.contains { $0 == "--speaker" || $0.hasPrefix("--speaker=") }
        if typesSpeaker { words.removeAll { $0.word.hasPrefix("--speaker=") } }
        guard !words.isEmpty else { return command }
        func together(_ words: [(line: Int, word: String)]) throws -> PlayCommand {
            try PlayCommand.parse(FlagWords.settled(words.map(\.word) + typed))
        }
        // ignored: the words at fault are searched for below, and reported.
        if let all = try? together(words) { return all }
        var kept: [(line: Int, word: String)] = []
        for word in words {
            do {
                _ = try together(kept + [word])
                kept.append(word)
            } catch {
                mistakes.append(
                    ConfigMistake(
                        Self.settingsFile, line: word.line,
                        "\(word.word) is set aside: \(CommandLineRunner.sentence(of: error))"))
            }
        }
        return try together(kept)
    }
}
