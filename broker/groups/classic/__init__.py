"""One group of the classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup."""
