#if Photos
import BlobCore
import Foundation
import GRDB

extension Catalogue {
    /// Returns the descriptions of an asset's adjustment, and whether they include the XMP packet in the original.
    func adjustment(of id: UUID) throws(BlobError) -> (descriptions: AdjustmentDescriptions, hasEmbedded: Bool) {
        try self.read { db in
            let found = try Self.descriptions(of: id, db)
            return found.map { ($0.descriptions, $0.hasEmbedded) } ?? (AdjustmentDescriptions(), true)
        }
    }

    private static func descriptions(
        of id: UUID, _ db: Database
    ) throws -> (descriptions: AdjustmentDescriptions, hasEmbedded: Bool, generation: Int64)? {
        // In a catalogue of an older version that is opened for reading, the table and the column do not exist.
        let isCurrent = try db.tableExists("sidecar")
        let sql = """
            SELECT asset.id, asset.adjustment, asset.generation,
                \(isCurrent ? "original.embedded_xmp" : "NULL AS embedded_xmp")
            FROM asset JOIN original ON original.id = asset.original_id WHERE asset.uuid = ?
            """
        guard let row = try Row.fetchOne(db.cachedStatement(sql: sql), arguments: [id.uuidString]) else { return nil }
        let asset = CheckedRow(row, of: "asset")
        var descriptions = AdjustmentDescriptions()
        descriptions.recipe = try asset.optionalValue("adjustment", as: String.self).map { Array($0.utf8) }
        let embedded = try asset.optionalValue("embedded_xmp", as: Data.self)
        descriptions.embedded = embedded.map(Array.init) ?? []
        if isCurrent {
            let statement = try db.cachedStatement(
                sql: "SELECT asset_id AS id, kind, content FROM sidecar WHERE asset_id = ?")
            for row in try Row.fetchAll(statement, arguments: [try asset.value("id", as: Int64.self)]) {
                let sidecar = CheckedRow(row, of: "sidecar")
                guard let kind = AdjustmentDescriptions.SidecarKind(rawValue: try sidecar.value("kind")) else {
                    throw sidecar.corruptionError("kind")
                }
                descriptions.sidecars[kind] = Array(try sidecar.value("content", as: Data.self))
            }
        }
        return (descriptions, isCurrent && embedded != nil, try asset.value("generation"))
    }

    /// Sets or removes the library's own recipe for an asset, and increments the asset's generation; returns false if
    /// the recipe is unchanged.
    static func setRecipe(_ recipe: AdjustmentRecipe?, of id: UUID, _ db: Database) throws -> Bool {
        let text = recipe.map { String(decoding: $0.canonicalBytes, as: UTF8.self) }
        try db.execute(
            sql: """
                UPDATE asset SET adjustment = ?1, generation = generation + 1
                WHERE uuid = ?2 AND adjustment IS NOT ?1
                """, arguments: [text, id.uuidString])
        return db.changesCount > 0
    }

    /// Returns the descriptions for the journal; nil if the asset does not exist.
    static func journalAdjustment(of id: UUID, _ db: Database) throws -> JournalAdjustment? {
        guard let (descriptions, _, generation) = try self.descriptions(of: id, db) else { return nil }
        let sidecars = descriptions.sidecars.map { kind, content in
            (kind.rawValue, content.count < JournalAdjustment.sidecarByteLimit ? Data(content) : Data())
        }
        return JournalAdjustment(
            id: id, generation: generation,
            recipe: descriptions.recipe.map { String(decoding: $0, as: UTF8.self) },
            sidecars: Dictionary(uniqueKeysWithValues: sidecars), render: try self.renders(of: id, db)[id])
    }

    /// Returns the renders of adjusted assets, keyed by the identifier of the adjusted asset.
    ///
    /// - Parameter id: The adjusted asset; nil for all assets.
    static func renders(of id: UUID? = nil, _ db: Database) throws -> [UUID: JournalRender] {
        let sql = """
            SELECT asset.id, asset.uuid, shown.uuid AS shown_uuid, adjustment_sha256 FROM render
            JOIN asset ON asset.id = asset_id JOIN asset AS shown ON shown.id = render_id
            """
        // In a catalogue of an older version that is opened for reading, the table does not exist.
        guard try db.tableExists("render") else { return [:] }
        let rows = try Row.fetchCursor(
            db, sql: id == nil ? sql : sql + " WHERE asset.uuid = ?", arguments: id.map { [$0.uuidString] } ?? [])
        var renders: [UUID: JournalRender] = [:]
        while let row = try rows.next() {
            let render = CheckedRow(row, of: "render")
            guard let id = UUID(uuidString: try render.value("uuid")),
                let shown = UUID(uuidString: try render.value("shown_uuid"))
            else { throw render.corruptionError("uuid") }
            let digest: Data = try render.value("adjustment_sha256")
            renders[id] = JournalRender(id: shown, adjustment: Array(digest).hexadecimal)
        }
        return renders
    }

    /// Sets the descriptions of an adjustment from the journal, if the asset exists and its adjustment is not newer.
    static func setAdjustment(_ adjustment: JournalAdjustment, _ db: Database) throws {
        let sql = "UPDATE asset SET adjustment = ?, generation = ? WHERE uuid = ? AND generation <= ?"
        try db.execute(
            sql: sql,
            arguments: [
                adjustment.recipe, adjustment.generation, adjustment.id.uuidString, adjustment.generation,
            ])
        guard db.changesCount > 0 else { return }
        for (kind, content) in adjustment.sidecars where AdjustmentDescriptions.SidecarKind(rawValue: kind) != nil {
            try db.execute(
                sql: """
                    INSERT INTO sidecar (asset_id, kind, content) SELECT id, ?, ? FROM asset WHERE uuid = ?
                    ON CONFLICT DO UPDATE SET content = excluded.content WHERE length(excluded.content) > 0
                    """, arguments: [kind, content, adjustment.id.uuidString])
        }
        if let render = adjustment.render, let digest = Data(hexadecimal: render.adjustment.utf8) {
            _ = try self.setRender(render.id, of: adjustment.id, adjustment: Array(digest), db)
        }
    }

    /// Sets sidecars of an asset, and increments its generation if the asset is not new and a sidecar is new or
    /// changed.
    ///
    /// - Returns: False if nothing changed.
    static func setSidecars(
        _ sidecars: [AdjustmentDescriptions.SidecarKind: [UInt8]], of id: UUID, isNew: Bool, _ db: Database
    ) throws -> Bool {
        var isChanged = false
        for (kind, content) in sidecars {
            try db.execute(
                sql: """
                    INSERT INTO sidecar (asset_id, kind, content) SELECT id, ?, ? FROM asset WHERE uuid = ?
                    ON CONFLICT DO UPDATE SET content = excluded.content WHERE content <> excluded.content
                    """, arguments: [kind.rawValue, Data(content), id.uuidString])
            isChanged = isChanged || db.changesCount > 0
        }
        if isChanged, !isNew {
            try db.execute(
                sql: "UPDATE asset SET generation = generation + 1 WHERE uuid = ?", arguments: [id.uuidString])
        }
        return isChanged
    }

    /// Records an asset as the render of another asset with an adjustment; returns false if nothing changed, or if one
    /// of them does not exist.
    static func setRender(
        _ render: UUID, of id: UUID, adjustment sha256: [UInt8], _ db: Database
    ) throws -> Bool {
        try db.execute(
            sql: """
                INSERT INTO render (asset_id, render_id, adjustment_sha256)
                SELECT asset.id, shown.id, ? FROM asset, asset AS shown WHERE asset.uuid = ? AND shown.uuid = ?
                ON CONFLICT DO UPDATE
                    SET render_id = excluded.render_id, adjustment_sha256 = excluded.adjustment_sha256
                    WHERE render_id <> excluded.render_id OR adjustment_sha256 <> excluded.adjustment_sha256
                """, arguments: [Data(sha256), id.uuidString, render.uuidString])
        return db.changesCount > 0
    }

    /// Stores the XMP packet of the original of an asset.
    func setEmbeddedXMP(_ packet: [UInt8], of id: UUID) throws(BlobError) {
        try self.write { db in
            try db.execute(
                sql: """
                    UPDATE original SET embedded_xmp = ? WHERE id = (SELECT original_id FROM asset WHERE uuid = ?)
                    """, arguments: [Data(packet), id.uuidString])
        }
    }
}
#endif
