//! What a request asks for: the kind of a resource, and the operation.

macro_rules! numbers {
    ($($(#[$comment:meta])* $table:ident { $($name:ident = $id:literal,)* })*) => { $(
        $(#[$comment])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum $table {
            $($name = $id,)*
        }

        impl $table {
            pub fn of_id(id: u16) -> Option<$table> {
                match id {
                    $($id => Some($table::$name),)*
                    _ => None,
                }
            }

            pub fn id(self) -> u16 {
                self as u16
            }
        }
    )* };
}

numbers! {
    /// The kinds of resources.
    ResourceType {
        Connection = 0,
        Database = 1,
        Collection = 2,
        Document = 3,
        Attachment = 4,
        User = 5,
        Permission = 6,
        StoredProcedure = 7,
        Conflict = 8,
        Trigger = 9,
        UserDefinedFunction = 10,
        Module = 11,
        Replica = 12,
        ModuleCommand = 13,
        Record = 14,
        Offer = 15,
        PartitionSetInformation = 16,
        XPReplicatorAddress = 17,
        MasterPartition = 18,
        ServerPartition = 19,
        DatabaseAccount = 20,
        Topology = 21,
        PartitionKeyRange = 22,
        Schema = 24,
        BatchApply = 25,
        RestoreMetadata = 26,
        ComputeGatewayCharges = 27,
        RidRange = 28,
        UserDefinedType = 29,
        VectorClock = 31,
        PartitionKey = 32,
        Snapshot = 33,
        ClientEncryptionKey = 35,
        Transaction = 37,
        PartitionedSystemDocument = 38,
        RoleDefinition = 39,
        RoleAssignment = 40,
        SystemDocument = 41,
        InteropUser = 42,
        TransportControlCommand = 43,
        AuthPolicyElement = 44,
        StorageAuthToken = 45,
        RetriableWriteCachedResponse = 46,
        EncryptionScope = 48,
        AzureRbac = 52,
        DistributedTransactionBatch = 53,
        HistoricalPartitionKeyRange = 55,
    }

    /// The operations on resources.
    OperationType {
        Connection = 0,
        Create = 1,
        Patch = 2,
        Read = 3,
        ReadFeed = 4,
        Delete = 5,
        Replace = 6,
        ExecuteJavaScript = 8,
        SQLQuery = 9,
        Pause = 10,
        Resume = 11,
        Stop = 12,
        Recycle = 13,
        Crash = 14,
        Query = 15,
        ForceConfigRefresh = 16,
        Head = 17,
        HeadFeed = 18,
        Upsert = 19,
        Recreate = 20,
        Throttle = 21,
        GetSplitPoint = 22,
        PreCreateValidation = 23,
        BatchApply = 24,
        AbortSplit = 25,
        CompleteSplit = 26,
        OfferUpdateOperation = 27,
        OfferPreGrowValidation = 28,
        BatchReportThroughputUtilization = 29,
        CompletePartitionMigration = 30,
        AbortPartitionMigration = 31,
        PreReplaceValidation = 32,
        AddComputeGatewayRequestCharges = 33,
        MigratePartition = 34,
        MasterReplaceOfferOperation = 35,
        ProvisionedCollectionOfferUpdateOperation = 36,
        Batch = 37,
        InitiateDatabaseOfferPartitionShrink = 38,
        CompleteDatabaseOfferPartitionShrink = 39,
        EnsureSnapshotOperation = 40,
        GetSplitPoints = 41,
        CompleteMergeOnTarget = 42,
        CompleteMergeOnMaster = 44,
        ForcePartitionBackup = 46,
        CompleteUserTransaction = 47,
        MasterInitiatedProgressCoordination = 48,
        MetadataCheckAccess = 49,
        CreateSystemSnapshot = 50,
        UpdateFailoverPriorityList = 51,
        GetStorageAuthToken = 52,
        UpdatePartitionThroughput = 53,
        CreateRidRangeResources = 54,
        Truncate = 55,
        RelocateLeakedTentativeWrites = 57,
        ExternalPreBackup = 58,
        ExternalBackup = 59,
        CheckExternalBackupStatus = 60,
        ExternalBackupRestore = 61,
        CheckExternalBackupRestoreStatus = 62,
        PrepareDistributedTransaction = 63,
        CommitDistributedTransaction = 64,
        AbortDistributedTransaction = 65,
        QueryPlan = 66,
        CancelExternalBackup = 67,
        CancelExternalBackupRestore = 68,
    }
}
