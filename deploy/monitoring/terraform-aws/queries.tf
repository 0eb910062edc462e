# Made from src/tenure/monitoring by `tenure monitoring render`. Not edited by hand.

resource "aws_cloudwatch_query_definition" "failed_heartbeats" {
  name            = "${var.name_prefix}failed-heartbeats"
  log_group_names = [var.log_group_name]
  query_string = <<-EOT
    fields @timestamp, job_id, owner, error_message
    | filter event_type = "heartbeat_extension_failed"
    | sort @timestamp desc
    | limit 100
  EOT
}

resource "aws_cloudwatch_query_definition" "heartbeat_statistics" {
  name            = "${var.name_prefix}heartbeat-statistics"
  log_group_names = [var.log_group_name]
  query_string = <<-EOT
    filter event_type = "heartbeat_stats"
    | fields coalesce(sample_weight, 1) as weight
    | fields extension_count * weight as counted, total_extended_seconds * weight as extended
    | stats sum(weight) as jobs,
        sum(counted) / sum(weight) as avg_extensions,
        max(extension_count) as max_extensions,
        sum(extended) / sum(weight) as avg_extended_seconds
        by task
    | sort jobs desc
  EOT
}

resource "aws_cloudwatch_query_definition" "duplicate_processing" {
  name            = "${var.name_prefix}duplicate-processing"
  log_group_names = [var.log_group_name]
  query_string = <<-EOT
    filter event_type in ["job_already_running", "job_already_finished"]
    | stats count(*) as times, max(@timestamp) as newest by job_id, event_type
    | sort times desc
    | limit 100
  EOT
}

resource "aws_cloudwatch_query_definition" "unfinished_jobs" {
  name            = "${var.name_prefix}unfinished-jobs"
  log_group_names = [var.log_group_name]
  query_string = <<-EOT
    filter event_type in ["heartbeat_started", "heartbeat_stats"]
    | fields strcontains(event_type, "heartbeat_started") as is_start, strcontains(event_type, "heartbeat_stats") as is_end
    | stats sum(is_start) as starts, sum(is_end) as ends, max(@timestamp) as newest by job_id, task
    | filter starts > ends
    | sort newest asc
    | limit 100
  EOT
}

resource "aws_cloudwatch_query_definition" "lease_renewals" {
  name            = "${var.name_prefix}lease-renewals"
  log_group_names = [var.log_group_name]
  query_string = <<-EOT
    filter event_type = "heartbeat_extended"
    | fields coalesce(sample_weight, 1) as weight
    | stats sum(weight) as renewals by bin(1h), task
  EOT
}

resource "aws_cloudwatch_query_definition" "file_sizes" {
  name            = "${var.name_prefix}file-sizes"
  log_group_names = [var.log_group_name]
  query_string = <<-EOT
    filter event_type = "file_size_detected"
    | stats count(*) as jobs,
        avg(file_size_mb) as avg_mb,
        max(file_size_mb) as max_mb,
        avg(estimated_processing_seconds) as avg_estimate_seconds
        by task
    | sort jobs desc
  EOT
}

resource "aws_cloudwatch_query_definition" "job_timeline" {
  name            = "${var.name_prefix}job-timeline"
  log_group_names = [var.log_group_name]
  query_string = <<-EOT
    fields @timestamp, event_type, level, message
    | filter job_id = "JOB_ID" or message_id = "JOB_ID"
    | sort @timestamp asc
    | limit 1000
  EOT
}

resource "aws_cloudwatch_query_definition" "failed_attempts" {
  name            = "${var.name_prefix}failed-attempts"
  log_group_names = [var.log_group_name]
  query_string = <<-EOT
    filter logger = "tenure.worker" and ispresent(code) and level in ["warning", "error"]
    | stats count(*) as failures, count_distinct(message_id) as messages, max(@timestamp) as newest by task, code, level
    | sort failures desc
  EOT
}

resource "aws_cloudwatch_query_definition" "findings" {
  name            = "${var.name_prefix}findings"
  log_group_names = [var.log_group_name]
  query_string = <<-EOT
    fields @timestamp, change, severity, alert, subject, evidence
    | filter logger = "tenure.alerting" and change in ["fired", "rose", "cleared"]
    | sort @timestamp desc
    | limit 100
  EOT
}
