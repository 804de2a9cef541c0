@_exported public import BlobCore
