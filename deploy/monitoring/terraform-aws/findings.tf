# Made from src/tenure/monitoring by `tenure monitoring render`. Not edited by hand.

resource "aws_cloudwatch_log_metric_filter" "findings_page" {
  name           = "${var.name_prefix}findings-page"
  log_group_name = var.log_group_name
  pattern        = "{ $.logger = \"tenure.alerting\" && $.severity = \"page\" && ($.change = \"fired\" || $.change = \"rose\") }"

  metric_transformation {
    namespace = var.namespace
    name      = "tenure_findings_page"
    value     = "1"
    dimensions = {
      alert = "$.alert"
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "findings_page" {
  for_each          = toset(["store_slow", "oldest_age"])
  alarm_name        = "${var.name_prefix}${replace(each.key, "_", "-")}-page"
  alarm_description = "Tenure judged that something is wrong (page). Runbook: ${var.runbooks_url}/${each.key}"
  namespace         = var.namespace
  metric_name       = "tenure_findings_page"
  dimensions = {
    alert = each.key
  }
  statistic           = "Sum"
  period              = 300
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "page", [])
  tags                = var.tags
}

resource "aws_cloudwatch_log_metric_filter" "findings_ticket" {
  name           = "${var.name_prefix}findings-ticket"
  log_group_name = var.log_group_name
  pattern        = "{ $.logger = \"tenure.alerting\" && $.severity = \"ticket\" && ($.change = \"fired\" || $.change = \"rose\") }"

  metric_transformation {
    namespace = var.namespace
    name      = "tenure_findings_ticket"
    value     = "1"
    dimensions = {
      alert = "$.alert"
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "findings_ticket" {
  for_each          = toset(["store_slow", "queue_unserved", "oldest_age", "limit_starves", "queue_paused", "long_processing", "zombie"])
  alarm_name        = "${var.name_prefix}${replace(each.key, "_", "-")}-ticket"
  alarm_description = "Tenure judged that something is wrong (ticket). Runbook: ${var.runbooks_url}/${each.key}"
  namespace         = var.namespace
  metric_name       = "tenure_findings_ticket"
  dimensions = {
    alert = each.key
  }
  statistic           = "Sum"
  period              = 300
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "ticket", [])
  tags                = var.tags
}

resource "aws_cloudwatch_log_metric_filter" "findings_show" {
  name           = "${var.name_prefix}findings-show"
  log_group_name = var.log_group_name
  pattern        = "{ $.logger = \"tenure.alerting\" && $.severity = \"show\" && ($.change = \"fired\" || $.change = \"rose\") }"

  metric_transformation {
    namespace = var.namespace
    name      = "tenure_findings_show"
    value     = "1"
    dimensions = {
      alert = "$.alert"
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "findings_show" {
  for_each          = toset(["long_processing", "near_dead_letters", "bulk_act", "queue_cleared", "dead_letter_movement"])
  alarm_name        = "${var.name_prefix}${replace(each.key, "_", "-")}-show"
  alarm_description = "Tenure judged that something is wrong (show). Runbook: ${var.runbooks_url}/${each.key}"
  namespace         = var.namespace
  metric_name       = "tenure_findings_show"
  dimensions = {
    alert = each.key
  }
  statistic           = "Sum"
  period              = 300
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "show", [])
  tags                = var.tags
}
