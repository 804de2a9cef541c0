#if Photos
import GRDB

extension Catalogue {
    /// The identifier of the database for `file(1)` and for ``AssetLibrary``: "BlbL".
    static let applicationIdentifier: Int32 = 0x426C_624C

    /// The first version; catalogues of this and later versions can be read without a migration.
    static let oldestVersion = "1"

    /// The migrations to the current version of the catalogue; each runs once, in order, and must never be changed.
    static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration(Self.oldestVersion) { db in
            try db.execute(sql: Self.firstSchema)
            try db.execute(sql: "PRAGMA application_id = \(Self.applicationIdentifier)")
            try db.execute(sql: "PRAGMA user_version = 1")
        }
        migrator.registerMigration("2") { db in
            // In the format of `BlockDigests`; NULL until the original has been read once.
            try db.execute(sql: "ALTER TABLE original ADD COLUMN block_sha256 BLOB")
            try db.execute(sql: "PRAGMA user_version = 2")
        }
        migrator.registerMigration("3") { db in
            try db.execute(sql: Self.adjustmentSchema)
            try db.execute(sql: "PRAGMA user_version = 3")
        }
        migrator.registerMigration("4") { db in
            try db.execute(sql: Self.maintenanceSchema)
            try db.execute(sql: "PRAGMA user_version = 4")
        }
        migrator.registerMigration("5") { db in
            try db.execute(sql: Self.pruningSchema)
            try db.execute(sql: Self.albumSchema)
            try db.execute(sql: "PRAGMA user_version = 5")
        }
        migrator.registerMigration("6") { db in
            for column in ["lens_model", "city", "country"] {
                try db.execute(sql: "ALTER TABLE original ADD COLUMN \(column) TEXT")
            }
            // NULL until a helper has read the facts.
            try db.execute(sql: "ALTER TABLE original ADD COLUMN facts_version INTEGER")
            try db.execute(sql: "PRAGMA user_version = 6")
        }
        migrator.registerMigration("7") { db in
            // The identity of the journal whose length is stored in the same row.
            try db.execute(sql: "ALTER TABLE library ADD COLUMN journal_id TEXT")
            try db.execute(sql: "PRAGMA user_version = 7")
        }
        return migrator
    }()

    /// The tables and columns for the journal and for repeated imports.
    ///
    /// These are the length of the journal as of the last commit, 0 without a journal; an index to find duplicates by
    /// size; and the files that were imported from folders, keyed by the bytes of their paths, with the status by which
    /// a changed file is detected: nanoseconds since 1970, and the inode.
    private static let maintenanceSchema = """
        ALTER TABLE library ADD COLUMN journal_byte_count INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX original_size ON original(byte_size);
        CREATE TABLE imported_file (
            path BLOB PRIMARY KEY,
            byte_size INTEGER NOT NULL,
            modified_at INTEGER NOT NULL,
            changed_at INTEGER NOT NULL,
            device INTEGER NOT NULL,
            inode INTEGER NOT NULL,
            asset_uuid TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    /// The tables of the first version.
    ///
    /// An original is a file. Assets are the items shown to users, and may share an original.
    ///
    /// `change_seq` is the ordered journal of changes to assets, written by triggers in the transaction of the change:
    /// an observer stores the last number that it has processed. Times are nanoseconds since 1970.
    private static let firstSchema = """
        CREATE TABLE library (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            uuid TEXT NOT NULL,
            created_at INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE original (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            sha256 BLOB NOT NULL UNIQUE CHECK (length(sha256) = 32),
            byte_size INTEGER NOT NULL CHECK (byte_size >= 0),
            path TEXT NOT NULL UNIQUE,
            state TEXT NOT NULL DEFAULT 'present' CHECK (state IN ('present', 'missing')),
            uti TEXT,
            media_type TEXT,
            pixel_width INTEGER CHECK (pixel_width > 0),
            pixel_height INTEGER CHECK (pixel_height > 0),
            orientation INTEGER CHECK (orientation BETWEEN 1 AND 8),
            capture_date TEXT,
            capture_offset TEXT,
            capture_subsecond TEXT,
            camera_make TEXT,
            camera_model TEXT,
            gps_latitude REAL,
            gps_longitude REAL,
            duration INTEGER,
            codec TEXT,
            live_photo_id TEXT
        ) STRICT;

        CREATE TABLE asset (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uuid TEXT NOT NULL UNIQUE,
            original_id INTEGER NOT NULL REFERENCES original(id),
            generation INTEGER NOT NULL DEFAULT 1 CHECK (generation > 0),
            original_filename TEXT,
            file_extension TEXT,
            modified_at INTEGER,
            ingested_at INTEGER NOT NULL,
            adjustment TEXT
        ) STRICT;
        CREATE INDEX asset_original ON asset(original_id);

        CREATE TABLE change_seq (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            asset_uuid TEXT NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('inserted', 'changed', 'moved', 'removed')),
            generation INTEGER NOT NULL
        ) STRICT;

        CREATE TRIGGER asset_inserted AFTER INSERT ON asset BEGIN
            INSERT INTO change_seq (asset_uuid, kind, generation) VALUES (NEW.uuid, 'inserted', NEW.generation);
        END;
        CREATE TRIGGER asset_changed AFTER UPDATE ON asset BEGIN
            INSERT INTO change_seq (asset_uuid, kind, generation) VALUES (NEW.uuid, 'changed', NEW.generation);
        END;
        CREATE TRIGGER asset_removed AFTER DELETE ON asset BEGIN
            INSERT INTO change_seq (asset_uuid, kind, generation) VALUES (OLD.uuid, 'removed', OLD.generation);
        END;
        CREATE TRIGGER original_moved AFTER UPDATE OF path, state ON original BEGIN
            INSERT INTO change_seq (asset_uuid, kind, generation)
                SELECT uuid, 'moved', generation FROM asset WHERE original_id = NEW.id ORDER BY id;
        END;
        """

    /// The descriptions of adjustments; `asset.adjustment` is the library's own recipe.
    ///
    /// `embedded_xmp` is the packet that ``EmbeddedXMP`` finds in the original; NULL until the original is searched. A
    /// sidecar without bytes was too long to store. A render is an asset that another program made from an adjusted
    /// asset; its digest is the digest of the descriptions at that time.
    private static let adjustmentSchema = """
        ALTER TABLE original ADD COLUMN embedded_xmp BLOB;

        CREATE TABLE sidecar (
            asset_id INTEGER NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('aae', 'xmp')),
            content BLOB NOT NULL,
            PRIMARY KEY (asset_id, kind)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE render (
            asset_id INTEGER PRIMARY KEY,
            render_id INTEGER NOT NULL,
            adjustment_sha256 BLOB NOT NULL
        ) STRICT;
        CREATE INDEX render_asset ON render(render_id);

        CREATE TRIGGER asset_descriptions_removed AFTER DELETE ON asset BEGIN
            DELETE FROM sidecar WHERE asset_id = OLD.id;
            DELETE FROM render WHERE OLD.id IN (asset_id, render_id);
        END;
        """

    /// Keeps the journal of changes short: each change whose number is a multiple of 1,000 removes the changes that are
    /// more than ``maximumJournalEntryCount`` before it.
    private static let pruningSchema = """
        CREATE TRIGGER change_pruned AFTER INSERT ON change_seq WHEN NEW.seq % 1000 = 0 BEGIN
            DELETE FROM change_seq WHERE seq <= NEW.seq - \(Self.maximumJournalEntryCount);
        END;
        """

    /// The tables of albums.
    ///
    /// The triggers record items of shared streams in the journal of changes, as the triggers of the first version do
    /// for assets.
    private static let albumSchema = """
        CREATE TABLE album (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL UNIQUE,
            is_shared INTEGER NOT NULL CHECK (is_shared IN (0, 1)),
            created_at INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE album_item (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            album_id INTEGER NOT NULL REFERENCES album(id) ON DELETE CASCADE,
            asset_id INTEGER REFERENCES asset(id) ON DELETE CASCADE,
            uuid TEXT UNIQUE,
            original_id INTEGER REFERENCES original(id),
            original_filename TEXT,
            file_extension TEXT,
            added_at INTEGER NOT NULL,
            UNIQUE (album_id, asset_id),
            CHECK ((asset_id IS NULL) = (uuid IS NOT NULL) AND (uuid IS NULL) = (original_id IS NULL))
        ) STRICT;
        CREATE INDEX album_item_asset ON album_item(asset_id);
        CREATE INDEX album_item_original ON album_item(original_id);

        CREATE TRIGGER item_inserted AFTER INSERT ON album_item WHEN NEW.uuid IS NOT NULL BEGIN
            INSERT INTO change_seq (asset_uuid, kind, generation) VALUES (NEW.uuid, 'inserted', 1);
        END;
        CREATE TRIGGER item_removed AFTER DELETE ON album_item WHEN OLD.uuid IS NOT NULL BEGIN
            INSERT INTO change_seq (asset_uuid, kind, generation) VALUES (OLD.uuid, 'removed', 1);
        END;
        CREATE TRIGGER item_moved AFTER UPDATE OF path, state ON original BEGIN
            INSERT INTO change_seq (asset_uuid, kind, generation)
                SELECT uuid, 'moved', 1 FROM album_item WHERE original_id = NEW.id ORDER BY id;
        END;
        """
}
#endif
