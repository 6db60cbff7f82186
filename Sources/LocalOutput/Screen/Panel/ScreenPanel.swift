/// A list over the film that a person chooses from: lines with a box to tick and a level beside them.
public struct ScreenPanel: Sendable, Hashable {
    public struct Row: Sendable, Hashable {
        public enum Mark: Sendable, Hashable {
            case empty, ticked
            /// On its way to being ticked.
            case pending
        }

        public var text: String
        /// A few words after the text: a state, a reason.
        public var detail: String
        public var mark: Mark
        /// 0…1, drawn as a bar; nil draws none.
        public var level: Double?
        /// Cannot be chosen as things are.
        public var isDim: Bool

        public init(_ text: String, detail: String = "", mark: Mark = .empty, level: Double? = nil, isDim: Bool = false)
        {
            self.text = text
            self.detail = detail
            self.mark = mark
            self.level = level
            self.isDim = isDim
        }
    }

    /// What a person pointed at.
    public enum Part: Sendable, Hashable {
        case mark, text
        /// A place on the bar, 0…1.
        case level(Double)
    }

    /// What is drawn before a row's text.
    public enum Marks: Sendable, Hashable {
        /// A box: any number of rows are ticked.
        case boxes
        /// A dot: one row is chosen.
        case dots
        /// Nothing: rows are read, and what follows their texts is one column.
        case none
    }

    public enum Place: Sendable, Hashable {
        case middle, topLeft
        /// Above this button of the bar; in the middle where there is none.
        case above(ScreenBar.Button)
    }

    public var title: String
    public var rows: [Row]
    public var marks: Marks
    public var place: Place
    /// The row that keys speak of; nil when there is none.
    public var current: Int?
    /// One line under the rows: which keys do what.
    public var hint: String

    public init(
        title: String, rows: [Row], current: Int? = nil, hint: String = "", marks: Marks = .boxes,
        place: Place = .middle
    ) {
        (self.marks, self.place) = (marks, place)
        self.title = title
        self.rows = rows
        self.current = current
        self.hint = hint
    }
}
