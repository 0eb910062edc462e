# Made from src/tenure/monitoring by `tenure monitoring render`. Not edited by hand.

variable "resource_group_name" {
  description = "The resource group of the rules."
  type        = string
}

variable "location" {
  description = "The region of the rules: that of what they read."
  type        = string
}

variable "scope" {
  description = "The id of the Application Insights resource, or of its workspace where that is queried."
  type        = string
}

variable "action_group_ids" {
  description = "By severity (page, ticket, show), the action groups that are called. A severity without an entry has none."
  type        = map(list(string))
  default     = {}
}

variable "evaluation_frequency" {
  description = "How often each rule is judged. Every minute (PT1M) costs more."
  type        = string
  default     = "PT5M"
}

variable "name_prefix" {
  description = "What the names of all resources begin with."
  type        = string
  default     = "tenure-"
}

variable "runbooks_url" {
  description = "Where the runbooks are read: /runbooks of a tenure server."
  type        = string
  default     = "http://127.0.0.1:8383/runbooks"
}

variable "tags" {
  description = "Tags of all resources."
  type        = map(string)
  default     = {}
}
