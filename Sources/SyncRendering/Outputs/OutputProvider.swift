public import MediaCore

/// A kind of place that sound can go to: this computer's sound cards, AirPlay speakers, a network that comes later.
///
/// A provider finds its places, makes their outputs, and knows an output again from one day to the next. A program registers the
/// providers it wants (`OutputRegistry` of the module Routing); a new kind of speaker touches nothing else. Any thread. Calls that may
/// block say so.
public protocol OutputProvider: AnyObject, Sendable {
    /// Names the provider in its places: `"airplay"`, `"soundcard"`.
    var name: String { get }

    /// Tells what there is, soon and after every change. Blocks until the interruption is raised, or until nothing can change any more.
    ///
    /// - Parameter report: called on the calling thread.
    func watch(until interruption: Interruption, _ report: (OutputOffer) -> Void)

    /// Whether a name that a person typed is meant for this provider, by its form alone. The registry asks its providers in order.
    func answers(to name: String) -> Bool

    /// Finds the places that a person named, in their order; those that are not there yet are waited for. May block for seconds.
    ///
    /// - Parameter notice: told what is waited for.
    /// - Throws: `invalidArgument` for a name that two have or that makes no sense, `unavailable` for a place that is not there,
    ///   `notPermitted` for one that wants a code first. Nothing is held then.
    func find(_ names: [String], until interruption: Interruption, notice: @escaping (String) -> Void)
        throws(TalkieError) -> [OutputPlace]

    /// The outputs at a place of this provider: one, or several that play as one. The same place has the same outputs every time. May
    /// read files; opens nothing.
    ///
    /// - Throws: `unavailable` or `notPermitted` when it cannot be played to as things are.
    func outputs(at place: OutputPlace) throws(TalkieError) -> [any AudioOutput]

    /// How calibrations know an output; nil for one that another provider made.
    func identity(of output: any AudioOutput) -> OutputIdentity?

    /// Who is told when an output's identity turns out to be another than was known. Replaces the one before.
    ///
    /// - Parameter handler: called on any thread; must return at once.
    func onIdentityChange(_ handler: @escaping @Sendable () -> Void)

    /// What plays, for places that show it; also for outputs that are made later.
    func setTitle(_ title: String)

    /// A sentence about each thing that this computer could not keep or read for this provider, oldest first. Looking at places and
    /// making their outputs may add some.
    var notes: [String] { get }

    /// Keeps what was learned about the places. After their outputs have been closed.
    func remember()
}

extension OutputProvider {
    public func onIdentityChange(_ handler: @escaping @Sendable () -> Void) {}
    public func setTitle(_ title: String) {}
    public var notes: [String] { [] }
    public func remember() {}
}

/// What a provider, or all of them, can offer at one moment.
public struct OutputOffer: Hashable, Sendable {
    /// In the order in which a person is shown them.
    public var places: [OutputPlace]
    /// Why there may be more than is listed, for people.
    public var note: String?

    public init(places: [OutputPlace] = [], note: String? = nil) {
        self.places = places
        self.note = note
    }

    /// Whether there is anything to choose from.
    public var hasSeveral: Bool { places.count > 1 }
}

/// One place that sound can go to, as a person chooses it: this computer, another of its sound cards, a speaker.
public struct OutputPlace: Hashable, Sendable, Identifiable {
    /// What a place is to a person. An open set: a new kind of speaker may add its own.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The system's default device, or the one that was asked for.
        public static let thisComputer = Kind(rawValue: "this-computer")
        public static let soundCard = Kind(rawValue: "sound-card")
        public static let speaker = Kind(rawValue: "speaker")
        /// Two receivers that play as one.
        public static let stereoPair = Kind(rawValue: "stereo-pair")
    }

    /// `OutputProvider.name` of the provider whose place it is.
    public let provider: String
    /// Stays the same from one day to the next, and differs from every other provider's: `local`, `alsa:DEVICE`, a speaker's identifier.
    public let id: String
    /// For people: `This computer`, `Kitchen`.
    public let name: String
    public let kind: Kind
    /// Why it cannot be chosen as things are, and what to do; nil when it can.
    public let obstacle: String?

    public init(provider: String, id: String, name: String, kind: Kind, obstacle: String? = nil) {
        self.provider = provider
        self.id = id
        self.name = name
        self.kind = kind
        self.obstacle = obstacle
    }
}

/// An output as calibrations know it: a speaker, or the sink behind a sound card.
public struct OutputIdentity: Hashable, Sendable {
    /// What profiles are kept under: see `isKey`. Empty for an output of which nobody says where it is heard: no profile holds for it.
    public var key: String
    public var name: String
    /// As a person may name it again.
    public var query: String
    /// Which way the sound takes: a delay that was measured on one route says nothing about another.
    public var route: String
    /// Where it was on the network; nil for outputs of this computer.
    public var address: String?

    public init(key: String, name: String, query: String, route: String, address: String? = nil) {
        self.key = key
        self.name = name
        self.query = query
        self.route = route
        self.address = address
    }

    /// 1 to 64 letters, digits, `-`, `_` and `.`, no dot in front: safe as a file's name.
    public static func isKey(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && !text.hasPrefix(".") && text.utf8.allSatisfy(isKeyByte)
    }

    /// The text as a key: every other character is an underscore, and what is too long is cut.
    public static func key(from text: String) -> String {
        let bytes = text.utf8.prefix(50).map { isKeyByte($0) ? $0 : UInt8(ascii: "_") }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isKeyByte(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            || byte == 0x2D || byte == 0x5F || byte == 0x2E
    }
}
