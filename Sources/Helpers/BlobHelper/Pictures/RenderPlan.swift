package import BlobCore

/// The steps of a recipe for a picture of a certain size, reduced to the few kinds that a renderer supports.
package struct RenderPlan: Equatable {
    package enum Step: Equatable {
        case crop(PictureRectangle)
        case orientation(PictureOrientation)
        /// See ``AdjustmentOperation/affine(_:width:height:)``.
        case affine(AffineMatrix, PictureSize)
        /// Replaces each sample with the byte at its index.
        case table([UInt8])
    }

    /// The steps in order; empty if the result is the original. Crops come as early as possible.
    package private(set) var steps: [Step] = []
    /// The size of the result.
    package private(set) var size: PictureSize

    /// Creates a plan for the operations of a recipe.
    ///
    /// - Parameter size: The size of the decoded picture.
    /// - Throws: ``BlobError/Code/invalidArgument`` if a value is out of range, or if a crop is not within the picture.
    package init(_ operations: [AdjustmentOperation], for size: PictureSize) throws(BlobError) {
        self.size = size
        for operation in operations {
            try operation.check()
            if let table = operation.table {
                self.add(table)
                continue
            }
            switch operation {
            case .orientation(let number): self.add(PictureOrientation(number) ?? .identity)
            case .crop(let rectangle): try self.add(rectangle)
            case .straighten(let degrees) where degrees != 0:
                let centre = (x: Double(self.size.width) / 2, y: Double(self.size.height) / 2)
                self.steps.append(.affine(AffineMatrix(degrees: degrees, about: centre, to: centre), self.size))
            case .affine(let matrix, let width, let height):
                self.size = PictureSize(width: width, height: height)
                self.steps.append(.affine(matrix, self.size))
            default: break
            }
        }
    }

    /// The orientation and the crop before it, if the plan has no other steps; nil otherwise.
    package var turnAndCrop: (orientation: PictureOrientation, crop: PictureRectangle?)? {
        var (orientation, crop) = (PictureOrientation.identity, PictureRectangle?.none)
        for step in self.steps {
            switch step {
            case .crop(let rectangle): crop = rectangle
            case .orientation(let turn): orientation = turn
            case .affine, .table: return nil
            }
        }
        return (orientation, crop)
    }

    private mutating func add(_ table: [UInt8]) {
        guard case .table(let first)? = self.steps.last else {
            return self.append(.table(table), unless: table.isIdentity)
        }
        self.steps.removeLast()
        let both = first.map { table[Int($0)] }
        self.append(.table(both), unless: both.isIdentity)
    }

    /// A turn after tables is moved before them, because tables do not depend on positions.
    private mutating func add(_ orientation: PictureOrientation) {
        self.size = orientation.applied(to: self.size)
        let table = self.popTable()
        var orientation = orientation
        if case .orientation(let first)? = self.steps.last {
            self.steps.removeLast()
            orientation = first.followed(by: orientation)
        }
        self.append(.orientation(orientation), unless: orientation == .identity)
        if let table { self.steps.append(table) }
    }

    private mutating func add(_ rectangle: PictureRectangle) throws(BlobError) {
        guard rectangle.isWithin(self.size) else {
            throw BlobError(
                .invalidArgument,
                "A crop of \(rectangle.width)x\(rectangle.height) pixels at \(rectangle.left),\(rectangle.top) is not "
                    + "within the picture of \(self.size.width)x\(self.size.height) pixels.")
        }
        let whole = PictureRectangle(left: 0, top: 0, width: self.size.width, height: self.size.height)
        let table = self.popTable()
        var (crop, turn) = (rectangle, Step?.none)
        if case .orientation(let orientation)? = self.steps.last {
            turn = self.steps.removeLast()
            crop = orientation.preimage(of: rectangle, in: orientation.applied(to: self.size))
        }
        if case .crop(let first)? = self.steps.last {
            self.steps.removeLast()
            crop.left += first.left
            crop.top += first.top
            self.steps.append(.crop(crop))
        } else {
            self.append(.crop(crop), unless: rectangle == whole)
        }
        self.steps += [turn, table].compactMap { $0 }
        self.size = rectangle.size
    }

    private mutating func popTable() -> Step? {
        guard case .table? = self.steps.last else { return nil }
        return self.steps.removeLast()
    }

    private mutating func append(_ step: Step, unless isIdentity: Bool) {
        if !isIdentity { self.steps.append(step) }
    }
}

extension PictureRectangle {
    package var size: PictureSize { PictureSize(width: self.width, height: self.height) }
}

extension [UInt8] {
    /// True for a table that changes nothing.
    fileprivate var isIdentity: Bool { self.indices.allSatisfy { Int(self[$0]) == $0 } }
}
